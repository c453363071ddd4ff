// What bf16 gives: products of matrices in turn with fp32 in one process; and whole steps of one run, for
// tools/bench/half, which lets the types take turns: two runs of a large model do not fit beside each other.
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/base/random.h>
#include <medley/model/parameter_bytes.h>
#include <medley/run/run.h>

#include "tools/bench/bench.h"

namespace medley {
namespace {

double Milliseconds(const std::function<void()>& fn) {
  const auto start = std::chrono::steady_clock::now();
  fn();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

// x W^T, as a linear map has it.
void CompareProduct(std::int64_t lines, std::int64_t in, std::int64_t out) {
  constexpr double kOperations = 4e8;  // of what is timed at once, about
  constexpr int kRounds = 15;
  const double operations = 2.0 * static_cast<double>(lines) * static_cast<double>(in * out);
  const int calls = 1 + static_cast<int>(kOperations / operations);
  const at::Tensor x = at::randn({lines, in}), weight = at::randn({out, in}), half_x = x.to(at::kBFloat16),
                   half_weight = weight.to(at::kBFloat16);
  std::vector<double> times[2], ratios;
  for (int round = -2; round < kRounds; ++round) {  // two to warm up
    const double in_float = Milliseconds([&] {
      for (int i = 0; i < calls; ++i) at::linear(x, weight);
    });
    const double in_half = Milliseconds([&] {
      for (int i = 0; i < calls; ++i) at::linear(half_x, half_weight);
    });
    if (round < 0) continue;
    times[0].push_back(in_float / calls), times[1].push_back(in_half / calls);
    ratios.push_back(in_float / in_half);
  }
  std::printf("%6lld x %5lld x %6lld  fp32 %8.3f ms  bf16 %8.3f ms  %.2fx\n", static_cast<long long>(lines),
              static_cast<long long>(in), static_cast<long long>(out), bench::Median(times[0]),
              bench::Median(times[1]), bench::Median(ratios));
}

void CompareProducts() {
  const at::NoGradGuard no_graph;
  std::printf("products of matrices, lines x in x out, with %d threads\n", at::get_num_threads());
  for (const auto& [lines, in, out] : std::vector<std::array<std::int64_t, 3>>{{1024, 64, 192},
                                                                               {4800, 64, 64},
                                                                               {1024, 512, 512},
                                                                               {294, 1024, 1024},
                                                                               {1176, 1024, 2048},
                                                                               {1176, 1024, 3072},
                                                                               {2048, 1024, 3072},
                                                                               {32, 1024, 151936}})
    CompareProduct(lines, in, out);
}

// A line each: milliseconds of forward and backward, of the update; bytes at the widest moment.
void TimeSteps(const std::string& config, const std::string& name, int steps,
               std::vector<std::string> overrides) {
  overrides.emplace_back("plan=false");
  const auto run = BuildRun(CheckInputs(config, overrides, {}), Purpose::kTrain);
  const Form form = run->forms.Own(name);
  LoadedTask& task = run->host->Get(form);
  const Execution execution = run->Configured(form);
  const std::uint64_t seed = TaskSeed(static_cast<std::uint64_t>(run->config.seed), name);
  const std::int64_t rows = form.settings.rows;
  for (std::int64_t step = -1; step < steps; ++step) {  // one to warm up
    const Batch batch = task.Sample({.seed = seed, .begin = (step + 1) * rows, .count = rows});
    const StepExecutor::Piece draw{.task = &task, .batch = &batch, .execution = &execution};
    ResetPeak(run->device);
    const double there = Milliseconds([&] { run->executor->Run({draw}); });
    const double update = Milliseconds([&] { run->optimizer->Step(1e-5); });
    if (step < 0) continue;
    std::printf("%.3f %.3f %lld\n", there, update, static_cast<long long>(ReadMemory(run->device).peak));
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace medley

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  try {
    if (what == "products" && argc == 2) {
      medley::CompareProducts();
      return 0;
    }
    if (what == "steps" && argc >= 5) {
      medley::TimeSteps(argv[2], argv[3], std::atoi(argv[4]), {argv + 5, argv + argc});
      return 0;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "medley_bench_half: %s\n", error.what());
    return 1;
  }
  std::fprintf(stderr, "usage: medley_bench_half products | steps CONFIG TASK STEPS [key=value...]\n");
  return 2;
}
