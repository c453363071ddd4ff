// Adds up gradients on a GPU by NCCL, in a group of this process alone, where everything must come out as it
// went in; and how long that takes, against the way through the CPU. Where several processes train, their
// sums are made so.
#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/cluster/gradient_exchange.h>
#include <medley/cluster/nccl_group.h>
#include <medley/cluster/store_group.h>
#include <medley/model/device.h>

#include "tools/bench/bench.h"

namespace medley {
namespace {

constexpr std::chrono::seconds kTimeout{60};

void Expect(bool same, const std::string& what) {
  if (!same) throw Error(what + " gave something else than went in");
}

void TryCollectives(ProcessGroup& group) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16, at::kLong}) {
    const at::Tensor own = at::randn({1001}, at::TensorOptions(group.device())).mul(100).to(type);
    at::Tensor values = own.clone(), all = at::zeros_like(own), part = at::zeros_like(own);
    group.AllReduce(values);
    group.Broadcast(values, 0);
    group.AllGather(all, own);
    group.ReduceScatter(part, own);
    group.Settle();
    const std::string in = std::string(" in ") + c10::toString(type);
    Expect(at::equal(values, own), "all-reduce or broadcast" + in);
    Expect(at::equal(all, own), "all-gather" + in);
    Expect(at::equal(part, own), "reduce-scatter" + in);
  }
}

std::vector<at::Tensor> MakeParameters(at::Device device, std::int64_t numbers) {
  std::vector<at::Tensor> parameters;
  for (const std::int64_t size : {std::int64_t{7}, numbers / 3, std::int64_t{1}, numbers - numbers / 3}) {
    parameters.push_back(at::zeros({size}, at::TensorOptions(device)).set_requires_grad(true));
    parameters.back().mutable_grad() = at::randn({size}, at::TensorOptions(device));
  }
  return parameters;
}

// Milliseconds, the median of a few; the gradients stay what they are.
double TimeExchange(ProcessGroup& group, const std::vector<at::Tensor>& parameters) {
  std::vector<at::Tensor> before;
  for (const at::Tensor& parameter : parameters) before.push_back(parameter.grad().clone());
  GradientExchange exchange(group, parameters);
  std::vector<double> times;
  for (int round = 0; round < 6; ++round) {
    Synchronize(parameters.front().device());
    const auto begin = std::chrono::steady_clock::now();
    exchange.Prepare(exchange.Used());
    exchange.Sum(exchange.Used());
    Synchronize(parameters.front().device());
    const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - begin;
    if (round > 0) times.push_back(spent.count());  // the first one also connects
  }
  for (std::size_t i = 0; i < parameters.size(); ++i)
    Expect(at::equal(parameters[i].grad(), before[i]), "the exchange");
  return bench::Median(times);
}

int Main(std::int64_t numbers) {
  const at::Device device = OpenDevice("cuda");
  const auto store = c10::make_intrusive<c10d::HashStore>();
  const auto nccl = JoinNccl(store, 0, 1, device, kTimeout);
  const auto gloo = JoinGloo(store, 0, 1, "127.0.0.1", kTimeout);
  TryCollectives(*nccl);
  const std::vector<at::Tensor> parameters = MakeParameters(device, numbers);
  const double on_gpu = TimeExchange(*nccl, parameters), through_cpu = TimeExchange(*gloo, parameters);
  std::printf("the same bits; %lld gradients in %.2f ms, through the CPU in %.2f ms\n",
              static_cast<long long>(numbers), on_gpu, through_cpu);
  return 0;
}

}  // namespace
}  // namespace medley

int main(int argc, char** argv) {
  try {
    return medley::Main(argc > 1 ? std::atoll(argv[1]) : 100'000'000);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "medley_bench_exchange: %s\n", error.what());
    return 1;
  }
}
