// What it saves that passes which see the same picture share its encoding: time and peak of a step with and
// without, the two measured in turn in one process.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <medley/memory/meter.h>
#include <medley/run/run.h>

#include "tools/bench/bench.h"

namespace medley {
namespace {

// The same model, told nothing about which pictures are the same.
class Unshared : public Model {
 public:
  explicit Unshared(const Model& model) : model_(model) {}

  ModelOutputs Forward(const ModelInputs& inputs, const WantedOutputs& wanted,
                       ForwardContext& context) const override {
    ModelInputs unknown = inputs;
    for (ModelInput& input : unknown) input.key.clear();
    return model_.Forward(unknown, wanted, context);
  }
  Generated Generate(const ModelInputs& prompt, const GenerateOptions& options,
                     ForwardContext& context) const override {
    return model_.Generate(prompt, options, context);
  }
  const std::vector<Parameter>& parameters() const override { return model_.parameters(); }
  std::vector<std::string_view> input_names() const override { return model_.input_names(); }
  std::vector<std::string_view> output_names() const override { return model_.output_names(); }
  void To(at::Device, at::ScalarType) override { throw Error("a view of a model cannot move it"); }

 private:
  const Model& model_;
};

struct Cost {
  double milliseconds = 0;
  std::int64_t peak = 0;
};

Cost Step(Run& run, StepExecutor& executor, LoadedTask& task, const Batch& batch,
          const Execution& execution) {
  ClearGradients(*run.model);
  const std::int64_t before = ReadMemory(run.device).now;
  ResetPeak(run.device);
  const auto start = std::chrono::steady_clock::now();
  executor.Run({{&task, &batch, &execution}});
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  return {spent.count(), ReadMemory(run.device).peak - before};
}

void Compare(Run& run, const std::string& name, Mode mode, int steps) {
  const auto seed = static_cast<std::uint64_t>(run.config.seed);
  LoadedTask& task = run.host->Get(name);
  const Unshared unshared(*run.model);
  StepExecutor with(*run.model, run.device), without(unshared, run.device);
  Execution execution = run.Configured(name);
  execution.way.mode = mode;
  const Batch batch = task.Sample({TaskSeed(seed, name), 0, run.config.tasks.at(name).rows});
  std::vector<double> shared, alone, ratio;
  Cost shared_cost, alone_cost;
  for (int i = -2; i < steps; ++i) {  // two to warm up
    shared_cost = Step(run, with, task, batch, execution);
    alone_cost = Step(run, without, task, batch, execution);
    if (i < 0) continue;
    shared.push_back(shared_cost.milliseconds);
    alone.push_back(alone_cost.milliseconds);
    ratio.push_back(alone_cost.milliseconds / shared_cost.milliseconds);
  }
  std::printf("%-14s %-10s %4lld rows  %7.1f ms %7.1f ms  %5.2fx   %7.1f MB %7.1f MB  %5.2fx\n", name.c_str(),
              std::string(ModeName(mode)).c_str(), static_cast<long long>(batch.size()),
              bench::Median(shared), bench::Median(alone), bench::Median(ratio),
              static_cast<double>(shared_cost.peak) / 1e6, static_cast<double>(alone_cost.peak) / 1e6,
              static_cast<double>(alone_cost.peak) / static_cast<double>(shared_cost.peak));
}

}  // namespace
}  // namespace medley

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: medley_bench_sharing CONFIG STEPS [key=value...]\n");
    return 2;
  }
  try {
    const auto run =
        medley::BuildRun(medley::CheckInputs(argv[1], {argv + 3, argv + argc}), medley::Purpose::kTrain);
    std::printf("medians of paired steps, %d each\n%-14s %-10s %9s  %10s %10s  %6s   %10s %10s  %6s\n",
                std::atoi(argv[2]), "task", "mode", "", "shared", "encoded", "time", "shared", "encoded",
                "peak");
    for (const std::string& task : run->NamedTasks()) {
      for (const medley::Mode mode : {medley::Mode::kJoint, medley::Mode::kSequential}) {
        medley::Compare(*run, task, mode, std::atoi(argv[2]));
      }
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "medley_bench_sharing: %s\n", error.what());
    return 1;
  }
  return 0;
}
