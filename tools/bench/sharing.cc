// What it saves that passes which see the same picture share what they make of it: time and peak of a step
// with all that medley shares, with encodings alone and with nothing, measured in turn in one process.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <medley/run/run.h>

#include "tools/bench/bench.h"

namespace medley {
namespace {

enum class Sharing { kAll, kEncodings, kNothing };

// Layers make keys and values themselves.
class EncodingsAlone : public ForwardContext {
 public:
  explicit EncodingsAlone(ForwardContext& context) : context_(context) {}

  at::Tensor Layer(std::string_view stack, int index, const at::Tensor& x,
                   const std::function<at::Tensor(const at::Tensor&)>& fn) override {
    return context_.Layer(stack, index, x, fn);
  }
  at::Tensor Shared(const std::string& key, const Fn& fn) override { return context_.Shared(key, fn); }
  std::uint64_t Seed(std::string_view site) override { return context_.Seed(site); }
  RowRange Rows() const override { return context_.Rows(); }

 private:
  ForwardContext& context_;
};

// The same model; where nothing is shared, it is not told which pictures are the same.
class SharingLess : public bench::ModelView {
 public:
  SharingLess(const Model& model, Sharing sharing) : ModelView(model), sharing_(sharing) {}

  ModelOutputs Forward(const ModelInputs& inputs, const WantedOutputs& wanted,
                       ForwardContext& context) const override {
    if (sharing_ == Sharing::kAll) return model().Forward(inputs, wanted, context);
    EncodingsAlone encodings(context);
    if (sharing_ == Sharing::kEncodings) return model().Forward(inputs, wanted, encodings);
    ModelInputs unknown = inputs;
    for (ModelInput& input : unknown) input.key.clear();
    return model().Forward(unknown, wanted, context);
  }

 private:
  Sharing sharing_;
};

// One way of sharing, step by step.
struct Way {
  SharingLess model;
  StepExecutor executor;
  bench::Cost last{};
  std::vector<double> times{}, ratios{};  // of its time to that of sharing all

  Way(const Run& run, Sharing sharing) : model(*run.model, sharing), executor(model, run.device) {}
};

void Compare(Run& run, const std::string& name, Mode mode, int steps) {
  const auto seed = static_cast<std::uint64_t>(run.config.seed);
  LoadedTask& task = run.host->Get(run.forms.Own(name));
  Execution execution = run.Configured(run.forms.Own(name));
  execution.way.mode = mode;
  const Batch batch = task.Sample({TaskSeed(seed, name), 0, run.config.tasks.at(name).rows});
  std::array ways{Way(run, Sharing::kAll), Way(run, Sharing::kEncodings), Way(run, Sharing::kNothing)};
  for (int i = -2; i < steps; ++i) {  // two to warm up
    for (Way& way : ways)
      way.last = bench::Step(run.device, *run.model, way.executor, {&task, &batch, &execution});
    for (Way& way : ways) {
      if (i < 0) break;
      way.times.push_back(way.last.milliseconds);
      way.ratios.push_back(way.last.milliseconds / ways[0].last.milliseconds);
    }
  }
  std::printf("%-14s %-10s %4lld rows", name.c_str(), std::string(ModeName(mode)).c_str(),
              static_cast<long long>(batch.size()));
  for (const Way& way : ways) {
    std::printf("  %7.1f ms %5.2fx  %6.1f MB %5.2fx", bench::Median(way.times), bench::Median(way.ratios),
                static_cast<double>(way.last.peak) / 1e6,
                static_cast<double>(way.last.peak) / static_cast<double>(ways[0].last.peak));
  }
  std::printf("\n");
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
    std::printf(
        "medians of %d steps of each in turn; times and peaks against those of sharing "
        "all\n%36s%-33s%-33s%s\n",
        std::atoi(argv[2]), "", "all shared", "encodings", "nothing");
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
