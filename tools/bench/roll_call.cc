// medley launch -n N -- medley_bench_roll_call [NUMBERS]: what the processes of a run tell each other in a
// step, with nothing to compute between: the roll call, the gathering behind the last backward, and the sum
// of as many gradients. How long each takes, and of the sum the bytes that this machine's loopback carried,
// against the least that it must.
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>

#include <cstdio>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <medley/base/clock.h>
#include <medley/cluster/cluster.h>
#include <medley/cluster/gradient_exchange.h>
#include <medley/cluster/rank_place.h>
#include <medley/cluster/roll_call.h>

#include "tools/bench/bench.h"

namespace medley {
namespace {

constexpr int kRounds = 500, kSums = 30;
constexpr std::int64_t kParameters = 40;

// Bytes that the loopback received so far, from all processes of this network namespace.
double LoopbackBytes() {
  std::ifstream table("/proc/net/dev");
  for (std::string name; table >> name;) {
    if (name != "lo:") continue;
    double bytes = 0;
    table >> bytes;
    return bytes;
  }
  throw Error("/proc/net/dev has no loopback");
}

// Milliseconds, the median; all begin together.
double TimeOf(ProcessGroup& group, int rounds, const std::function<void()>& work) {
  std::vector<double> times;
  for (int round = -2; round < rounds; ++round) {
    Barrier(group);
    const double begin = SteadySeconds();
    work();
    if (round >= 0) times.push_back(1000 * (SteadySeconds() - begin));
  }
  return bench::Median(times);
}

int Main(std::int64_t numbers) {
  Cluster cluster(FindRankPlace());
  ProcessGroup& group = cluster.group();
  std::vector<at::Tensor> parameters;
  for (std::int64_t i = 0; i < kParameters; ++i) {
    parameters.push_back(at::zeros({numbers / kParameters}).set_requires_grad(true));
    parameters.back().mutable_grad() = at::randn({numbers / kParameters});
  }
  GradientExchange exchange(group, parameters);
  const RollCall call{.step = 1, .item_count = 5, .items = {48, 48, 48, 48, 393}};
  const double roll = TimeOf(group, kRounds, [&] { GatherMessages(group, call); });
  std::vector<std::int64_t> closing(8);  // failed, seconds, sums
  const auto used = exchange.Used();
  closing.insert(closing.end(), used.begin(), used.end());
  const double close = TimeOf(group, kRounds, [&] { GatherNumbers(group, closing); });
  const double barriers = LoopbackBytes();
  for (int i = 0; i < kSums; ++i) Barrier(group);
  const double before = LoopbackBytes();
  const double sum = TimeOf(group, kSums, [&] { exchange.Sum(used); });
  Barrier(group);
  const double carried = (LoopbackBytes() - before - (before - barriers) / kSums * (kSums + 3)) / (kSums + 2);
  if (!cluster.is_first()) return 0;
  const auto size = static_cast<double>(cluster.place().size);
  const double least =
      2 * (size - 1) * 4 * static_cast<double>(numbers / kParameters * kParameters);  // of all processes
  std::printf(
      "%.0f processes: roll call %.3f ms, gathering behind the backward %.3f ms (together %.2f %% of a step "
      "of 100 ms)\n",
      size, roll, close, roll + close);
  std::printf("sum of %lld gradients %.2f ms; %.2f MB on the loopback, %.3f of 2 (N - 1) times their bytes\n",
              static_cast<long long>(numbers), sum, carried / 1e6, carried / least);
  return 0;
}

}  // namespace
}  // namespace medley

int main(int argc, char** argv) {
  try {
    return medley::Main(argc > 1 ? std::atoll(argv[1]) : 400'000);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "medley_bench_roll_call: %s\n", error.what());
    return 1;
  }
}
