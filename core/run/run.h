#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <medley/checkpoint/load_weights.h>
#include <medley/cluster/cluster.h>
#include <medley/cluster/gradient_exchange.h>
#include <medley/config/run_config.h>
#include <medley/contract/contract_check.h>
#include <medley/curriculum/curriculum.h>
#include <medley/curriculum/form_table.h>
#include <medley/curriculum/mixer.h>
#include <medley/data/data_rules.h>
#include <medley/memory/budget.h>
#include <medley/model/adapters.h>
#include <medley/model/blocks/kernel_check.h>
#include <medley/model/model.h>
#include <medley/plugin/confirmed_paths.h>
#include <medley/plugin/registry.h>
#include <medley/plugin/task_host.h>
#include <medley/report/console.h>
#include <medley/run/run_files.h>
#include <medley/run/validate.h>
#include <medley/step/step_executor.h>
#include <medley/text/tokenizer.h>
#include <medley/update/optimizer.h>
#include <medley/update/references.h>

namespace medley {

// The collaborators of a run, put together. Who starts the run owns them; those who watch over the whole, the
// trainer and what it is made of, keep a reference to this, the others to what they need. Members stand in
// the order in which they need each other, so the last ends first. For the trainer's thread.
struct Run {
  explicit Run(RunConfig from = {}, Curriculum weights = {})
      : config(std::move(from)), curriculum(std::move(weights)), forms(config, curriculum) {}

  const RunConfig config;
  std::shared_ptr<Cluster> cluster = std::make_shared<Cluster>();  // who trains it; a process alone
  at::Device device = at::kCPU;
  Budget budget;                      // of a run that trains; 0 bytes: no limit
  Curriculum curriculum;              // the weights file; what is in force is the mixer's
  FormTable forms;                    // of its tasks, and of edits of its weights
  std::string weights_text;           // of that file
  std::filesystem::path config_file;  // that it began with; "": not known
  std::unique_ptr<Registry> registry;
  std::optional<ModelFile> model_file;   // always there
  std::unique_ptr<Tokenizer> tokenizer;  // null where the model needs none, as the control text is empty
  std::vector<std::string> control_text;
  std::unique_ptr<DataRules> rules = std::make_unique<DataRules>();  // how it reads people's files
  std::unique_ptr<TaskHost> host;
  std::unique_ptr<Model> model;
  std::string taken;                      // words about weights of a Hugging Face folder; "": none were read
  std::optional<KernelVerdicts> kernels;  // that it uses, of those that were tried; of a GPU
  std::string kernel_words;               // what is left aside of them; "": nothing
  // Only for training:
  std::unique_ptr<Mixer> mixer;
  std::unique_ptr<ContractCheck> contract;
  std::unique_ptr<StepExecutor> executor;
  std::unique_ptr<Optimizer> optimizer;
  std::unique_ptr<References> references;      // also of who scores; null for an export, or of a test
  std::unique_ptr<GradientExchange> exchange;  // null: a process alone

  // The named tasks: those with a weight above 0 in some stage, in the file's order. Others of the file are
  // checked only: not loaded, planned or given a column. Active are those with a weight now, and the mixer
  // knows them.
  std::vector<std::string> NamedTasks() const { return curriculum.Named(); }
  // The tasks whose code runs under these names.
  std::vector<std::string> NamedKinds() const { return registry->KindsOf(NamedTasks()); }
  // The forms in which its stages run them.
  std::vector<Form> NamedForms() const { return forms.Named(curriculum); }
  // How the draws of a form run where nothing was planned, and of all named ones.
  Execution Configured(const Form& form) const;
  std::map<FormId, Execution> Configured() const;
  // The build of the plugin that brings the model, "" for one of medley's own.
  std::string ModelBuild() const;
  // Its place where the optimizer is divided among its processes.
  ShardPlace Shard() const { return {cluster->place().rank, cluster->place().size}; }
  // The adapters of its model.
  Adapters Adapted() const;
  // Makes the model of its file, with fresh weights, but for those that are given (see ModelContext).
  // `base`: see Adapters.
  std::unique_ptr<Model> MakeModel(std::uint64_t seed, at::Device device,
                                   const std::set<std::string>* given = nullptr,
                                   at::ScalarType base = at::kFloat) const;
};

// The files that a run is made from, read and checked against each other; no tensor and no plugin code so
// far.
struct RunInputs {
  Registry registry;
  CheckedRun checked;
  DataRules rules = {};                        // those of a run that begins, or of the run that lies there
  std::optional<KernelVerdicts> kernels = {};  // of the run that lies there
  std::optional<std::set<std::string>> references = {};  // likewise, their names; nothing: it begins
  MovedFiles moved = {};
};
// `plugins` go before the config's, which must have been confirmed; `weights`: instead of what is in the
// weights file. Of a config that a run wrote, files that lie elsewhere now are looked for; `changed`: as
// RunFiles has it. Throws one InputError with every mistake.
RunInputs CheckInputs(const std::filesystem::path& config, const std::vector<std::string>& overrides = {},
                      const NamedPlugins& plugins = {}, RunAge state = RunAge::kBegins,
                      const std::optional<WeightsText>& weights = std::nullopt,
                      const std::vector<std::filesystem::path>& changed = {});
// Checks the files of the run that lies in a directory, with its own weights file where it has one; `config`:
// "" for its newest.
RunInputs CheckInputsOf(const std::filesystem::path& directory, std::vector<std::string> overrides = {},
                        const std::optional<WeightsText>& weights = std::nullopt,
                        std::filesystem::path config = {}, const NamedPlugins& plugins = {},
                        const std::vector<std::filesystem::path>& changed = {});

// kUse: no mixer, executor or optimizer; kExport: likewise, and weights in float whatever the run computes
// in, so that they are as training has them; kSample: no model at all.
enum class Purpose { kTrain, kUse, kExport, kSample };
// kPretrained: those of the Hugging Face folder that the model's file names, where it names one.
enum class StartingWeights { kFresh, kPretrained };

// Calls InstallCpuAllocator and sets libtorch's threads. For training: resolves the budget, InputError for
// one above the device; a GPU's holds from here on. An Error with kDoesNotFit, before anything is allocated,
// for a budget below what the model's shapes alone need, and an InputError for a folder whose weights do not
// fit the model.
std::unique_ptr<Run> BuildRun(RunInputs inputs, Purpose purpose,
                              StartingWeights weights = StartingWeights::kFresh,
                              std::shared_ptr<Cluster> cluster = std::make_shared<Cluster>());

// The run that lies in a directory, with the weights of its newest whole checkpoint. For eval and generate:
// changes nothing in the directory, and says where plugins or programs are not those that trained it.
// `device`: instead of the run's own, "" for that. `overrides` ("tasks.NAME.options.OPTION=VALUE"): other
// rows than the run's own; of all else an InputError. `kind`: which weights, where the run keeps an average.
struct TrainedRun {
  std::unique_ptr<Run> run;
  std::int64_t step = 0;                       // of the weights
  bool averaged = false;                       // they are the average of the last steps' (optimizer.average)
  std::map<std::string, std::string> dropped;  // tasks that the run dropped while it was trained, and why
};
// Whether an override is of those.
bool IsTaskOption(const std::string& override);
TrainedRun OpenTrainedRun(const std::filesystem::path& directory, Console& console,
                          const std::string& device = "", const NamedPlugins& plugins = {},
                          std::vector<std::string> overrides = {},
                          SavedWeights kind = SavedWeights::kAveraged);

// The same with a run's directory or a checkpoint's, whose weights it then has, on the CPU and for kExport.
TrainedRun OpenForExport(const std::filesystem::path& directory, Console& console,
                         const NamedPlugins& plugins = {}, SavedWeights kind = SavedWeights::kAveraged);

// Takes weights of another run (config.init_from), not their average, in whatever type it computed; `anew`:
// parameters that are left as they are. Returns words about it, "" where none is named.
std::string InitializeFrom(const InitFrom& from, const MasterWeights& weights, Console& console,
                           const Adapters& adapters = {}, const std::set<std::string>& anew = {});
// Lets the adapters begin with those of a folder of PEFT's (config.lora.pretrained), after InitializeFrom.
// Returns words likewise.
std::string BeginAdapters(const Run& run);

}  // namespace medley
