#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <medley/config/run_config.h>
#include <medley/curriculum/mixer.h>
#include <medley/memory/budget.h>
#include <medley/model/model.h>
#include <medley/plugin/registry.h>
#include <medley/plugin/task_host.h>
#include <medley/report/console.h>
#include <medley/run/validate.h>
#include <medley/step/optimizer.h>
#include <medley/step/step_executor.h>
#include <medley/text/tokenizer.h>

namespace medley {

// The collaborators of a run, put together. Who starts the run owns them, and hands to each what it needs:
// none of them sees the others through this. Members stand in the order in which they need each other.
struct Run {
  RunConfig config;
  at::Device device = at::kCPU;
  Budget budget;    // of a run that trains; 0 bytes: no limit
  Mixture mixture;  // as the weights file has it; what is in force is the mixer's
  std::unique_ptr<Registry> registry;
  std::unique_ptr<Tokenizer> tokenizer;
  std::vector<std::string> control_text;
  std::unique_ptr<TaskHost> host;
  std::unique_ptr<Model> model;
  // Only for training:
  std::unique_ptr<Mixer> mixer;
  std::unique_ptr<StepExecutor> executor;
  std::unique_ptr<AdamW> optimizer;

  // The named tasks: those with a weight above 0 in some stage, in the mixture's order; a weights file is one
  // stage. Others of the file are checked only: not loaded, planned or given a column. Active are those with
  // a weight now, and the mixer knows them.
  std::vector<std::string> NamedTasks() const { return mixture.Active(); }
  // How a named task's draws run where nothing was planned.
  Execution Configured(const std::string& task) const;
};

// The files that a run is made from, read and checked against each other; no tensor and no plugin code so
// far.
struct RunInputs {
  Registry registry;
  CheckedRun checked;
};
// `plugin_paths` go before the config's. Throws one InputError with every mistake.
RunInputs CheckInputs(const std::filesystem::path& config, const std::vector<std::string>& overrides = {},
                      const std::vector<std::filesystem::path>& plugin_paths = {},
                      Stage stage = Stage::kBegins);

// kUse: no mixer, executor or optimizer; kSample: no model either.
enum class Purpose { kTrain, kUse, kSample };

// Calls InstallCpuAllocator and sets libtorch's threads. For training: resolves the budget, InputError for
// one above the device; a GPU's holds from here on. An Error with kDoesNotFit, before anything is allocated,
// for a budget below what the model's shapes alone need.
std::unique_ptr<Run> BuildRun(RunInputs inputs, Purpose purpose);

// The run that lies in a directory, with the weights of its newest whole checkpoint. For eval and generate:
// changes nothing in the directory, and says where plugins or programs are not those that trained it.
// `device`: instead of the run's own, "" for that.
struct TrainedRun {
  std::unique_ptr<Run> run;
  std::int64_t step = 0;                       // of the weights
  std::map<std::string, std::string> dropped;  // tasks that the run dropped while it was trained, and why
};
TrainedRun OpenTrainedRun(const std::filesystem::path& directory, Console& console,
                          const std::string& device = "");

// Takes weights of another run (config.init_from). Returns words about it, "" where none is named.
std::string InitializeFrom(const InitFrom& from, const Model& model, Console& console);

}  // namespace medley
