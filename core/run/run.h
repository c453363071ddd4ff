#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include <medley/config/run_config.h>
#include <medley/curriculum/mixer.h>
#include <medley/memory/budget.h>
#include <medley/memory/guard.h>
#include <medley/model/model.h>
#include <medley/plugin/plugin_host.h>
#include <medley/plugin/registry.h>
#include <medley/report/console.h>
#include <medley/run/validate.h>
#include <medley/step/optimizer.h>
#include <medley/step/step_executor.h>
#include <medley/text/tokenizer.h>

namespace medley {

// The collaborators of a run, put together. Members stand in the order in which they need each other.
struct Run {
  RunConfig config;
  at::Device device = at::kCPU;
  Budget budget;  // of a run that trains; 0 bytes: no limit
  Mixture mixture;
  std::unique_ptr<Registry> registry;
  std::unique_ptr<Tokenizer> tokenizer;
  std::vector<std::string> control_text;
  std::unique_ptr<PluginHost> host;
  std::function<LoadedTask&(const std::string&)> task;  // loads it when it is first asked for
  std::function<bool(const std::string&)> is_loaded;
  std::map<std::string, ExecutionPlan> plans;  // of every task with a weight
  std::optional<PlannedMemory> planned;        // what these take, where they were measured
  // And what they would take in other micro-batches.
  std::function<std::optional<PeakPrediction>(const std::string& task, std::int64_t micro_rows)> predict_peak;
  std::unique_ptr<Model> model;
  std::int64_t trained_steps = 0;  // of the model's weights, where OpenTrainedRun took them from a checkpoint
  // Only for training:
  std::unique_ptr<Mixer> mixer;
  std::unique_ptr<StepExecutor> executor;
  std::unique_ptr<AdamW> optimizer;

  // With a weight above 0, in the mixture's order.
  std::vector<std::string> ActiveTasks() const;
};

// The files that a run is made from, read and checked against each other; no tensor and no plugin code so
// far.
struct RunInputs {
  Registry registry;
  CheckedRun checked;
};
// `plugin_paths` go before the config's. Throws one InputError with every mistake.
RunInputs CheckInputs(const std::filesystem::path& config, const std::vector<std::string>& overrides = {},
                      const std::vector<std::filesystem::path>& plugin_paths = {});

// kUse: no mixer, executor or optimizer; kSample: no model either.
enum class Purpose { kTrain, kUse, kSample };

// Calls InstallCpuAllocator and sets libtorch's threads. For training: resolves the budget, InputError for
// one above the device; a GPU's holds from here on. An Error with kDoesNotFit for a budget below the model,
// unless a planner, which says more about it, will look at it.
std::unique_ptr<Run> BuildRun(RunInputs inputs, Purpose purpose);

// The run that lies in a directory, with the weights of its newest whole checkpoint. For eval and generate:
// changes nothing in the directory.
std::unique_ptr<Run> OpenTrainedRun(const std::filesystem::path& directory, Console& console);

// A task's, as the config names it. Without loading the task where its spec is known. InputError where there
// is no such variant.
const VariantInfo& VariantOf(const Run& run, const std::string& task);

// Takes weights of another run (config.init_from). Returns words about it, "" where none is named.
std::string InitializeFrom(const InitFrom& from, const Model& model, Console& console);

// What stands in run.json: versions, device, threads, the input files with their sums, the plugin files.
nlohmann::ordered_json RunRecord(const Run& run);
// InputError where the model's config, the tokenizer or the control text is no longer what the run began
// with. Returns words for what changed and is taken over from now on (weights file, plugins).
std::vector<std::string> CompareRecord(const nlohmann::ordered_json& old_record,
                                       const nlohmann::ordered_json& now);

}  // namespace medley
