// What a step of each task computes, how fast, and how fast plain products of the model's own matrices are on
// the same threads: the share is the field's MFU. In turn, in one process.
#include <ATen/ops/mm.h>
#include <ATen/ops/rand.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <medley/run/run.h>
#include <medley/step/work_counter.h>

#include "tools/bench/bench.h"

namespace medley {
namespace {

constexpr double kGiga = 1e9;

// Every hidden matrix once, by as many lines as a forward of a pass has tokens.
class PlainProducts {
 public:
  PlainProducts(const Model& model, std::int64_t lines) {
    for (const Parameter& parameter : model.parameters()) {
      if (!parameter.hidden) continue;
      const at::Tensor matrix = parameter.tensor.detach().flatten(1).t();  // [in, out]
      pairs_.push_back({at::rand({lines, matrix.size(0)}, matrix.options()), matrix});
      operations_ += 2.0 * static_cast<double>(lines) * static_cast<double>(matrix.numel());
    }
  }
  double operations() const { return operations_; }
  double Milliseconds() const {
    const auto start = std::chrono::steady_clock::now();
    for (const auto& [lines, matrix] : pairs_) at::mm(lines, matrix);
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  }

 private:
  std::vector<std::pair<at::Tensor, at::Tensor>> pairs_;
  double operations_ = 0;
};

class TokensOfPasses final : public StepObserver {
 public:
  void PassRan(const PassRun& run) override { tokens_ += run.tokens, ++passes_; }
  std::int64_t mean() const {
    return std::max<std::int64_t>(1, tokens_ / std::max<std::int64_t>(1, passes_));
  }

 private:
  std::int64_t tokens_ = 0, passes_ = 0;
};

// One mode of a task, step by step.
struct Way {
  Execution execution;
  double operations = 0, of_longest = 0;             // a step
  double last = 0;                                   // ms
  std::vector<double> speeds{}, shares{}, ratios{};  // of its time to that of the first mode
};

double OperationsOf(const Run& run, LoadedTask& task, const Batch& batch, const Execution& execution,
                    StepObserver& observer) {
  run.executor->Run({{&task, &batch, &execution}});  // holds a task against its spec first
  ClearGradients(*run.model);
  const WorkCounter counter;
  run.executor->Run({{&task, &batch, &execution}}, observer);
  return static_cast<double>(counter.operations());
}

// Of the ratio that a round shows on the average, with 95 %.
std::string Interval(const std::vector<double>& ratios) {
  double sum = 0, squares = 0;
  const auto count = static_cast<double>(ratios.size());
  for (const double ratio : ratios) sum += std::log(ratio);
  for (const double ratio : ratios) squares += std::pow(std::log(ratio) - sum / count, 2);
  const double half = 1.96 * std::sqrt(squares / (count - 1) / count);
  std::array<char, 80> text{};
  std::snprintf(text.data(), text.size(), "%.3f (%.3f-%.3f)", std::exp(sum / count),
                std::exp(sum / count - half), std::exp(sum / count + half));
  return text.data();
}

void Print(const std::string& name, std::int64_t rows, const std::vector<Way>& ways,
           const std::vector<double>& plain) {
  for (const Way& way : ways) {
    std::printf(
        "%-14s %-10s %4lld rows %8.2f Gflop (longest rows %.3fx) %6.1f Gflop/s, products %6.1f: share %.2f",
        name.c_str(), std::string(ModeName(way.execution.way.mode)).c_str(), static_cast<long long>(rows),
        way.operations / kGiga, way.of_longest / way.operations, bench::Median(way.speeds),
        bench::Median(plain), bench::Median(way.shares));
    if (&way != ways.data()) std::printf("; time over the first mode's %s", Interval(way.ratios).c_str());
    std::printf("\n");
  }
  std::fflush(stdout);
}

void Measure(Run& run, const std::string& name, int rounds) {
  const Form form = run.forms.Own(name);
  LoadedTask& task = run.host->Get(form);
  const std::int64_t rows = std::max<std::int64_t>(1, form.settings.rows);
  RowRange range{TaskSeed(static_cast<std::uint64_t>(run.config.seed), name), 0, rows};
  const Batch drawn = task.Sample(range);
  range.longest = true;
  const Batch longest = task.Sample(range);
  TokensOfPasses tokens;
  std::vector<Way> ways;
  for (const Mode mode : LegalModes(run.host->Variant(form))) {
    if (mode != Mode::kJoint && task.variant().passes.size() == 1) continue;  // the same
    Way& way = ways.emplace_back(Way{.execution = run.Configured(form)});
    way.execution.way.mode = mode;
    way.operations = OperationsOf(run, task, drawn, way.execution, tokens);
    way.of_longest = OperationsOf(run, task, longest, way.execution, tokens);
  }
  const PlainProducts products(*run.model, tokens.mean());
  std::vector<double> plain;
  for (int i = -2; i < rounds; ++i) {  // two to warm up
    const double product = products.operations() / products.Milliseconds() * 1e3 / kGiga;
    for (Way& way : ways)
      way.last =
          bench::Step(run.device, *run.model, *run.executor, {&task, &drawn, &way.execution}).milliseconds;
    if (i < 0) continue;
    plain.push_back(product);
    for (Way& way : ways) {
      way.speeds.push_back(way.operations / way.last * 1e3 / kGiga);
      way.shares.push_back(way.speeds.back() / product);
      way.ratios.push_back(way.last / ways.front().last);
    }
  }
  Print(name, rows, ways, plain);
}

}  // namespace
}  // namespace medley

int main(int argc, char** argv) {
  if (argc < 3 || std::atoi(argv[2]) < 2) {
    std::fprintf(stderr,
                 "usage: medley_bench_work CONFIG ROUNDS [key=value...]; an interval needs two rounds\n");
    return 2;
  }
  try {
    const auto run =
        medley::BuildRun(medley::CheckInputs(argv[1], {argv + 3, argv + argc}), medley::Purpose::kTrain);
    std::printf("medians of %d rounds, one step of each mode in turn; ratios with 95 %% intervals\n",
                std::atoi(argv[2]));
    for (const std::string& task : run->NamedTasks()) medley::Measure(*run, task, std::atoi(argv[2]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "medley_bench_work: %s\n", error.what());
    return 1;
  }
  return 0;
}
