#include <medley/run/run.h>

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cstdlib>
#include <tuple>

#include <medley/base/bytes.h>
#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/libraries.h>
#include <medley/base/next_command.h>
#include <medley/base/printable.h>
#include <medley/base/suggest.h>
#include <medley/checkpoint/checkpoint.h>
#include <medley/checkpoint/checkpoint_files.h>
#include <medley/checkpoint/checkpoint_search.h>
#include <medley/checkpoint/run_directory.h>
#include <medley/config/mistakes.h>
#include <medley/config/threads.h>
#include <medley/curriculum/weight_log.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/model/device.h>
#include <medley/model/float_type.h>
#include <medley/model/parameter_bytes.h>
#include <medley/plugin/model_maker.h>
#include <medley/plugin/plugin_host.h>
#include <medley/plugin/python_host.h>
#include <medley/run/input_files.h>
#include <medley/run/published_files.h>
#include <medley/run/run_classes.h>
#include <medley/run/run_kernels.h>
#include <medley/run/run_record.h>
#include <medley/run/run_references.h>
#include <medley/run/run_rules.h>
#include <medley/run/starting_weights.h>
#include <medley/run/token_rows.h>
#include <medley/run/weight_log_check.h>
#include <medley/step/passes/saved_variables.h>
#include <medley/text/load_tokenizer.h>
#include <medley/update/kept_bytes.h>
#include <medley/update/parameter_groups.h>
#include <medley/weights/peft_weights.h>
#include <medley/weights/pretrained_config.h>
#include <medley/weights/pretrained_weights.h>

namespace medley {
namespace {

namespace fs = std::filesystem;

// A run that is only used may have been trained on a larger machine.
void SetThreads(std::int64_t threads, Purpose purpose, const RankPlace& place) {
  const std::int64_t cores = Cores();
  if (purpose == Purpose::kTrain) ThreadsWarning(threads, cores);
  const std::int64_t chosen = DefaultThreads();
  // What nobody chose is shared by the processes of a machine.
  const std::int64_t fair =
      place.local_size > 1 ? std::max<std::int64_t>(1, std::min(chosen, cores / place.local_size)) : chosen;
  at::set_num_threads(static_cast<int>(threads > 0 ? std::min(threads, kMostThreadsACore * cores) : fair));
}

void MakeHost(Run& run) {
  auto host = std::make_unique<PluginHost>(PluginHost::Context{.registry = *run.registry,
                                                               .model = *run.model_file,
                                                               .tokenizer = run.tokenizer.get(),
                                                               .control_text = run.control_text,
                                                               .rules = run.rules.get(),
                                                               .chat = run.config.chat});
  FollowClasses(*host, run);
  run.host = std::move(host);
}

// Before the device's first tensor: the allocator of a GPU reads its limit once. The CPU's holds from the
// trainer on, for reading another run's weights may take more than training does.
void TakeBudget(Run& run) {
  run.budget = ResolveBudget(ParseBudget(run.config.budget), run.device);
  // Of a machine's memory that nobody divided each of its processes has a part; and all have what the least
  // has.
  if (run.device.is_cpu() && !run.budget.asked) run.budget.bytes /= run.cluster->place().local_size;
  for (const auto& [bytes] : GatherMessages(run.cluster->group(), std::tuple(run.budget.bytes)))
    run.budget.bytes = std::min(run.budget.bytes, bytes);
  if (run.device.is_cpu()) return;
  run.budget.bytes = EnforceBudget(run.budget, run.device);
}

// So that a budget below the libraries' own needs is told as one.
void WarmUp(const Run& run) {
  if (run.device.is_cpu()) return;
  try {
    WarmUpProducts(run.device);
  } catch (const c10::OutOfMemoryError&) {
    throw Error("the budget of " + FormatBytes(run.budget.bytes) + " is below what " + run.device.str() +
                    "'s libraries take for products of matrices, before anything of the run. Raise budget",
                ExitCode::kDoesNotFit);
  }
}

// By shapes: before anything is allocated.
void CheckBudget(const Run& run, const Model& shapes) {
  const KeptBytes needs = KeptBytesOf(run.config.optimizer, shapes, run.Shard());
  const std::int64_t references =
      ReferenceBytes(shapes, TrainedNames(run, shapes), run.config.references, AskedReferences(run));
  CheckFixedBytes(run.budget, {.weights = WeightBytes(shapes),
                               .gradients = needs.gradients,
                               .optimizer = needs.state(),
                               .references = references});
}

// Before anything is planned, which then counts its buffer.
void MakeExchange(Run& run) {
  if (run.cluster->alone()) return;
  std::vector<at::Tensor> trained;
  for (const Parameter& parameter : run.model->parameters()) {
    if (IsTrained(run.config.optimizer, parameter)) trained.push_back(parameter.tensor);
  }
  run.exchange = std::make_unique<GradientExchange>(run.cluster->gradients(), std::move(trained));
  run.optimizer->SpreadBy(*run.exchange);
}

// Nothing where the model's file names none.
std::optional<PretrainedWeights> OpenPretrained(const Run& run, const Model& shapes) {
  const ModelConfig& config = run.model_file->config;
  if (config.pretrained().empty() && config.pretrained_tower().empty()) {
    for (const auto& [key, patterns] : {std::pair{"allow_missing", &run.config.allow_missing},
                                        {"allow_unexpected", &run.config.allow_unexpected}}) {
      if (!patterns->empty())
        throw InputError(std::string(key) + ": the model's file " + DisplayPath(run.config.model) +
                         " names no pretrained weights, which it could be about; leave it out");
    }
    return std::nullopt;
  }
  return PretrainedWeights(
      StartingWeightsOf(*run.model_file, run.config.allow_missing, run.config.allow_unexpected),
      shapes.parameters());
}

// Looked at again, as a run that was stopped before its first checkpoint begins anew.
TokenRows RowsOf(const Run& run) {
  const std::filesystem::path& folder = run.model_file->config.pretrained();
  if (folder.empty()) return {};
  ThrowProblems(folder, FolderProblems(folder, run.config.lora.pretrained));
  if (!run.tokenizer) return {};
  Vocabulary vocabulary{.added = std::ssize(run.tokenizer->AddedIds())};
  for (std::int64_t id = 0; id < run.tokenizer->size(); ++id)
    vocabulary.tokens.push_back(run.tokenizer->Piece(id));
  TokenRows rows =
      CompareTokens(vocabulary, run.config.tokenizer, folder,
                    run.model_file->config.Integer(run.model_file->info.pretrained.group + ".vocabulary"));
  if (const std::string problem = rows.Problem(run.config.allow_new_rows); !problem.empty())
    throw InputError(DisplayPath(run.config.tokenizer) + ": " + problem);
  return rows;
}

PeftWeights OpenAdapters(const Run& run, const Model& model) {
  return PeftWeights(run.config.lora.pretrained, run.model_file->info.pretrained.root, run.Adapted(),
                     model.parameters());
}

// The model is made on the CPU, in float but for what adapters freeze; only what fits moves to the device.
// Masters begin with the values before they were rounded.
void BuildModel(Run& run, Purpose purpose, StartingWeights weights) {
  const at::ScalarType dtype = purpose == Purpose::kExport ? at::kFloat : FloatTypeNamed(run.config.dtype);
  std::optional<PretrainedWeights> pretrained;
  TokenRows rows;
  if (purpose == Purpose::kTrain) {
    const auto shapes = run.MakeModel(0, at::kMeta);
    shapes->To(at::kMeta, dtype);
    if (weights == StartingWeights::kPretrained) {
      pretrained = OpenPretrained(run, *shapes);
      if (pretrained) rows = RowsOf(run);
      if (!run.config.lora.pretrained.empty()) OpenAdapters(run, *shapes);  // what is wrong with it shows now
    }
    CheckBudget(run, *shapes);
  }
  run.model = run.MakeModel(static_cast<std::uint64_t>(run.config.seed), at::kCPU,
                            pretrained ? &pretrained->given() : nullptr, dtype);
  if (pretrained) {
    const std::int64_t tokens = run.tokenizer ? run.tokenizer->size() : 0;
    // What is not trained has no master: it is read in the type that the run computes in.
    pretrained->Fill(run.model->parameters(), {.count = tokens, .added = rows.ids},
                     [&](const Parameter& parameter) {
                       return IsTrained(run.config.optimizer, parameter) ? at::kFloat : dtype;
                     });
    const bool compared = tokens > 0 && !run.model_file->config.pretrained().empty();
    run.taken = pretrained->Words() + (compared ? "; " + rows.Words() : "");
  }
  std::vector<Parameter> start;
  if (purpose == Purpose::kTrain) start = TrainedOf(run.config.optimizer, *run.model);
  if (!run.device.is_cpu() || dtype != at::kFloat) run.model->To(run.device, dtype);
  if (purpose == Purpose::kTrain)
    run.optimizer = std::make_unique<Optimizer>(*run.model, run.config.optimizer, start, run.Shard());
}

// Reads of the newest whole checkpoint. A run that goes on meanwhile may remove it: then there is a newer
// one.
template <typename Read>
std::optional<FoundCheckpoint> ReadNewest(const fs::path& run, Console& console, const Read& read) {
  while (true) {
    auto found = FindCheckpoint(run, OnDamage::kSkip, console);
    if (!found) return std::nullopt;
    try {
      read(found->path);
      return found;
    } catch (const Error&) {
      if (TypeOf(found->path) != fs::file_type::not_found) throw;
    }
  }
}

// Why, by task, of those that the run dropped while it was trained.
std::map<std::string, std::string> DroppedIn(const fs::path& checkpoint) {
  try {
    return ReadSection(checkpoint, "progress").at("dropped").get<std::map<std::string, std::string>>();
  } catch (const nlohmann::json::exception& error) {
    throw InputError(Printable(checkpoint) + " does not say which tasks were dropped: " + error.what());
  }
}

// Built, and nothing read so far.
TrainedRun OpenUntrained(const fs::path& directory, Console& console, const std::string& device,
                         const NamedPlugins& plugins, std::vector<std::string> overrides,
                         Purpose purpose = Purpose::kUse) {
  if (!device.empty()) overrides.push_back("device=" + device);
  TrainedRun trained;
  RunInputs inputs = CheckInputsOf(directory, overrides, std::nullopt, {}, plugins);
  const MovedFiles moved = inputs.moved;
  trained.run = BuildRun(std::move(inputs), purpose);
  const Run& run = *trained.run;
  nlohmann::ordered_json record = RunRecord(run), old_record = ReadRunRecord(directory);
  for (const std::string& given : overrides)  // other rows than those it began with are what was asked for
    record.at("inputs").erase(given.substr(0, given.find('=')));
  MovePlugins(moved, old_record);
  for (const std::string& words : MoveWords(moved, old_record, record)) console.Say(words);
  for (const std::string& change : CompareRecord(old_record, record, run.NamedKinds(), directory))
    console.Warn("changed since " + Printable(directory) + " was trained: " + change);
  for (const std::string& line : run.registry->Choices(run.NamedTasks())) console.Say(line);
  return trained;
}

void Take(TrainedRun& trained, const fs::path& checkpoint, SavedWeights kind) {
  trained.averaged =
      LoadWeights(checkpoint, trained.run->model->parameters(), {"*"}, trained.run->Adapted(), kind).averaged;
  trained.dropped = DroppedIn(checkpoint);
  RestoreReferences(*trained.run, checkpoint.parent_path(), checkpoint);
}

void TakeNewest(TrainedRun& trained, const fs::path& directory, Console& console, SavedWeights kind) {
  const auto found =
      ReadNewest(directory, console, [&](const fs::path& checkpoint) { Take(trained, checkpoint, kind); });
  if (!found)
    throw InputError(Printable(directory) + " holds no checkpoint yet. Train it first: medley resume " +
                     ShellWord(directory.string()));
  console.Say((trained.averaged ? "averaged parameters of step " : "parameters of step ") +
              std::to_string(found->facts.step) + " from " + found->path.string());
  trained.step = found->facts.step;
}

}  // namespace

std::map<FormId, Execution> Run::Configured() const {
  std::map<FormId, Execution> executions;
  for (const Form& form : NamedForms()) executions[form.id] = Configured(form);
  return executions;
}

Execution Run::Configured(const Form& form) const { return ExecutionOf(form.settings, host->Variant(form)); }

std::string Run::ModelBuild() const {
  const PluginFile* plugin = registry->FileOfModel(model_file->info.name);
  return plugin == nullptr ? "" : plugin->build_id;
}

Adapters Run::Adapted() const { return AdaptersOf(config.lora, tokenizer.get()); }

std::unique_ptr<Model> Run::MakeModel(std::uint64_t seed, at::Device device,
                                      const std::set<std::string>* given, at::ScalarType base) const {
  return medley::MakeModel(*model_file, *registry, tokenizer.get(), seed, device, given, config.lora, base);
}

RunInputs CheckInputs(const fs::path& config, const std::vector<std::string>& overrides,
                      const NamedPlugins& plugins, RunAge state, const std::optional<WeightsText>& weights,
                      const std::vector<fs::path>& changed) {
  RunFiles files(config, overrides, changed);
  ConfigPlugins found = ScanPlugins(config, plugins, files);
  if (state == RunAge::kBegins) PublishedFilesOf(config, files, found.registry).Require();
  RunInputs inputs{.registry = std::move(found.registry), .checked = {}, .moved = files.moved()};
  inputs.checked =
      CheckRun(config, files.overrides(), inputs.registry, state, weights, Locks::kHold, files.of_model());
  inputs.checked.run.plugin_path = std::move(found.paths);  // the saved config then finds them again
  if (state == RunAge::kBegins) inputs.rules = RulesOfNewRun(inputs.checked.run, inputs.registry);
  return inputs;
}

RunInputs CheckInputsOf(const fs::path& directory, std::vector<std::string> overrides,
                        const std::optional<WeightsText>& weights, fs::path config,
                        const NamedPlugins& plugins, const std::vector<fs::path>& changed) {
  if (config.empty()) config = NewestConfig(directory);  // there is a run
  const fs::path own = fs::absolute(directory) / kRunWeights;
  RequireOwnWeights(directory);
  RequireJsonOfWeights(directory);
  if (TypeOf(own) != fs::file_type::not_found) {
    for (const std::string& given : overrides) {
      if (given.starts_with("weights="))
        throw InputError("'" + given + "': this run has a weights file of its own, " + DisplayPath(own) +
                         "; edit that one");
    }
    overrides.push_back("weights=" + own.string());
  }
  RunInputs inputs = [&] {
    try {
      return CheckInputs(config, WithEarlierDefaults(config, overrides), plugins, RunAge::kBegun, weights,
                         changed);
    } catch (const Mistakes& mistakes) {
      throw Mistakes(mistakes.what() + NewerRunWords(directory), mistakes.list());
    }
  }();
  inputs.rules = RulesOfRun(directory, config, inputs);
  inputs.kernels = KernelsOf(directory);
  inputs.references = ReferencesOf(directory);
  return inputs;
}

std::unique_ptr<Run> BuildRun(RunInputs inputs, Purpose purpose, StartingWeights weights,
                              std::shared_ptr<Cluster> cluster) {
  if (purpose != Purpose::kExport) PrepareHosts(inputs.registry, inputs.checked.curriculum.Named());
  MatchKernels();
  InstallCpuAllocator();
  InstallSavedVariableHooks();  // WarmUp has the first backward, and a process one set of threads for a GPU's
  auto run = std::make_unique<Run>(inputs.checked.run, inputs.checked.curriculum);
  run->cluster = std::move(cluster);
  run->weights_text = inputs.checked.weights_text;
  run->config_file = inputs.moved.config;
  *run->rules = std::move(inputs.rules);
  run->model_file = inputs.checked.model;
  run->registry = std::make_unique<Registry>(std::move(inputs.registry));
  if (const RankPlace& place = run->cluster->place(); place.size > 1 && run->config.device == "cuda") {
    const std::string gpu = OneOfTheGpus(std::getenv("CUDA_VISIBLE_DEVICES"), place.local_rank);
    ::setenv("CUDA_VISIBLE_DEVICES", gpu.c_str(), /*overwrite=*/1);
  }
  run->device = OpenDevice(run->config.device, {.deterministic = run->config.deterministic,
                                                .matmul_precision = run->config.matmul_precision});
  if (purpose == Purpose::kTrain) {
    run->cluster->JoinDevice(run->device);
    TakeBudget(*run);
  }
  WarmUp(*run);
  SetThreads(run->config.threads, purpose, run->cluster->place());
  const auto seed = static_cast<std::uint64_t>(run->config.seed);
  SeedGenerators(seed, run->device);
  if (run->model_file->info.tokenizer)
    run->tokenizer = LoadTokenizer(run->config.tokenizer, run->config.special_tokens);
  if (run->model_file->info.control_text) run->control_text = ReadControlText(run->config.control_text);
  if (PythonHost* const python = TheHostOfPython(); python != nullptr)
    python->SetSampling({.in_processes = run->config.data.processes,
                         .tokenizer = run->tokenizer ? fs::absolute(run->config.tokenizer) : fs::path(),
                         .special_tokens = run->config.special_tokens});
  MakeHost(*run);
  if (purpose == Purpose::kSample) return run;
  BuildModel(*run, purpose, weights);
  TakeKernels(*run, inputs.kernels);
  if (purpose != Purpose::kExport) run->references = MakeReferences(*run, inputs.references);
  if (purpose != Purpose::kTrain) return run;
  run->mixer =
      std::make_unique<Mixer>(run->curriculum.MixtureOf(0), TaskSizes(inputs.checked, *run->registry), seed);
  run->contract = std::make_unique<ContractCheck>(*run->model, run->device);
  run->executor =
      std::make_unique<StepExecutor>(*run->model, run->device, run->contract.get(), run->references.get());
  MakeExchange(*run);
  return run;
}

bool IsTaskOption(const std::string& override) {
  const std::size_t options = override.find(".options.");
  return override.starts_with("tasks.") && options != std::string::npos && options < override.find('=');
}

TrainedRun OpenTrainedRun(const fs::path& directory, Console& console, const std::string& device,
                          const NamedPlugins& plugins, std::vector<std::string> overrides,
                          SavedWeights kind) {
  for (const std::string& override : overrides) {
    if (!IsTaskOption(override))
      throw InputError(
          "'" + Printable(override) +
          "' is not what a trained run can be asked with; expected tasks.NAME.options.OPTION=VALUE");
  }
  TrainedRun trained = OpenUntrained(directory, console, device, plugins, std::move(overrides));
  TakeNewest(trained, directory, console, kind);
  return trained;
}

TrainedRun OpenForExport(const fs::path& directory, Console& console, const NamedPlugins& plugins,
                         SavedWeights kind) {
  const std::int64_t step = StepOfName(directory.filename().string());
  const bool is_run = step < 0;
  if (!is_run) VerifyCheckpoint(directory);
  TrainedRun trained = OpenUntrained(is_run ? directory : directory.parent_path(), console, "cpu", plugins,
                                     {}, Purpose::kExport);
  if (is_run) {
    TakeNewest(trained, directory, console, kind);
  } else {
    Take(trained, directory, kind);
    trained.step = step;
  }
  return trained;
}

std::string InitializeFrom(const InitFrom& from, const MasterWeights& weights, Console& console,
                           const Adapters& adapters, const std::set<std::string>& anew) {
  if (from.run.empty()) return "";
  if (!fs::is_directory(from.run))
    throw InputError("init_from.run: " + Printable(from.run) + " is not a directory");
  TakenWeights parameters;
  fs::path taken = from.run;
  const auto take = [&](const fs::path& checkpoint) {
    parameters = LoadWeights(checkpoint, weights.list(), from.match, adapters, SavedWeights::kTrained, anew);
  };
  if (StepOfName(taken.filename().string()) >= 0) {
    VerifyCheckpoint(taken);
    take(taken);
  } else {
    const auto found = ReadNewest(from.run, console, take);
    if (!found) throw InputError("init_from.run: " + Printable(from.run) + " holds no checkpoint");
    taken = found->path;
  }
  weights.Round();
  return "took " + std::to_string(parameters.count) + " of " + std::to_string(weights.list().size()) +
         " parameters from " + Printable(taken) +
         (parameters.adapters.empty() ? "" : "; " + parameters.adapters) +
         (anew.empty() ? "" : "; its classes are others, so these begin anew: " + Listed(anew));
}

std::string BeginAdapters(const Run& run) {
  if (run.config.lora.pretrained.empty()) return "";
  const PeftWeights adapters = OpenAdapters(run, *run.model);
  const MasterWeights& weights = run.optimizer->weights();
  adapters.Fill(weights.list());
  weights.Round();
  return adapters.Words();
}

}  // namespace medley
