// Updates compact moments on a GPU by the kernels of medley_kernels.so: to the bit as on the CPU, and how
// long that takes against libtorch's operators there.
#include <ATen/ATen.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/base/random.h>
#include <medley/model/device.h>
#include <medley/model/gpu_kernels.h>
#include <medley/update/compact_operators.h>

#include "tests/update/compact_start.h"
#include "tools/bench/bench.h"

namespace medley {
namespace {

constexpr std::int64_t kSizes[] = {1, 255, 256, 4096, 4097, 100'003, 1'000'000};
constexpr int kSteps = 20;
constexpr std::int64_t kPlace = 10 * kernels::kBlock;  // as of a part of a tensor

// One tensor with its moments on a device, and how it is updated.
struct Contestant {
  CompactUpdate tensor;
  std::function<void(const CompactUpdate&)> update;

  Contestant(MomentsKind kind, const at::Tensor& start, at::Device device,
             std::function<void(const CompactUpdate&)> update)
      : tensor(test::StartOf(kind,
                             start.to(device, start.scalar_type(), /*non_blocking=*/false, /*copy=*/true))),
        update(std::move(update)) {}

  void Step(const at::Tensor& gradients, int step) {
    tensor.gradients = gradients.to(tensor.weights.device());
    tensor.rates = CompactRates({}, /*learning_rate=*/1e-3, /*weight_decay=*/0.1, /*clip_scale=*/0.37, step,
                                HashName("weights"));
    tensor.place = kPlace;
    update(tensor);
  }
};

void OnCpu(const CompactUpdate& update) { UpdateOnCpu({update}); }

bool Same(const at::Tensor& a, const at::Tensor& b) { return !a.defined() || at::equal(a, b.cpu()); }

// Of every magnitude, and zeros.
at::Tensor Gradients(std::int64_t numbers) {
  const at::Tensor values = at::randn({numbers}) * at::pow(10, at::rand({numbers}) * -12);
  return at::where(at::rand({numbers}) < 0.1, at::zeros({}), values);
}

void ExpectTheCpusBits(MomentsKind kind, std::int64_t numbers, at::Device device) {
  const at::Tensor start = at::randn({numbers}) * 0.02;
  Contestant host(kind, start, at::kCPU, OnCpu), gpu(kind, start, device, UpdateByKernel);
  for (int step = 1; step <= kSteps; ++step) {
    const at::Tensor gradients = Gradients(numbers);
    host.Step(gradients, step), gpu.Step(gradients, step);
    const CompactUpdate &here = host.tensor, &there = gpu.tensor;
    const bool same = Same(here.weights, there.weights) && Same(here.means, there.means) &&
                      Same(here.squares, there.squares) && Same(here.mean_scales, there.mean_scales) &&
                      Same(here.square_scales, there.square_scales);
    if (!same)
      throw Error(EnumName(kind) + ", " + std::to_string(numbers) + " numbers, step " + std::to_string(step) +
                  ": the kernel gives other bits than the CPU");
  }
}

// Milliseconds of one, the median of a few.
double TimeOf(Contestant& contestant, const at::Tensor& gradients, at::Device device) {
  std::vector<double> times;
  for (int step = 1; step <= 12; ++step) {
    Synchronize(device);
    const auto begin = std::chrono::steady_clock::now();
    contestant.Step(gradients, step);
    Synchronize(device);
    const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - begin;
    if (step > 2) times.push_back(taken.count());
  }
  return bench::Median(times);
}

void Time(MomentsKind kind, std::int64_t numbers, at::Device device) {
  const at::Tensor start = at::randn({numbers}) * 0.02, gradients = (at::randn({numbers}) * 1e-4).to(device);
  CompactOperators operators(kind, device);
  Contestant kernel(kind, start, device, UpdateByKernel),
      slow(kind, start, device, [&](const CompactUpdate&update) { operators.Update(update); });
  const double fast = TimeOf(kernel, gradients, device), other = TimeOf(slow, gradients, device);
  const double bytes = static_cast<double>(numbers) * (kind == MomentsKind::kBf16 ? 20 : 16);
  std::printf("%s: %.3f ms for %lld numbers, %.0f GB/s; by operators %.1f ms, %.1f times as long\n",
              EnumName(kind).c_str(), fast, static_cast<long long>(numbers), bytes / fast / 1e6, other,
              other / fast);
}

void CheckAndTime(std::int64_t numbers) {
  const at::Device device = OpenDevice("cuda");
  if (const std::string& problem = KernelsProblem(device); !problem.empty()) throw Error(problem);
  const MomentsKind kinds[] = {MomentsKind::kBf16, MomentsKind::k8Bit};
  for (const MomentsKind kind : kinds) {
    for (const std::int64_t size : kSizes) ExpectTheCpusBits(kind, size, device);
  }
  std::printf("the same bits as the CPU, %d steps of %zu sizes\n", kSteps, std::size(kSizes));
  for (const MomentsKind kind : kinds) Time(kind, numbers, device);
}

}  // namespace
}  // namespace medley

int main(int argc, char** argv) {
  try {
    if (argc != 2) {
      std::fprintf(stderr, "usage: medley_bench_kernels NUMBERS\n");
      return 2;
    }
    medley::CheckAndTime(std::stoll(argv[1]));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "medley_bench_kernels: %s\n", error.what());
    return 1;
  }
}
