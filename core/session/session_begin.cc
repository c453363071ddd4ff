#include <utility>

#include <medley/base/durable_file.h>
#include <medley/base/interrupt.h>
#include <medley/base/next_command.h>
#include <medley/base/printable.h>
#include <medley/checkpoint/rank_directories.h>
#include <medley/config/threads.h>
#include <medley/run/data_files.h>
#include <medley/run/odd_settings.h>
#include <medley/run/published_files.h>
#include <medley/run/run_classes.h>
#include <medley/run/run_kernels.h>
#include <medley/run/run_record.h>
#include <medley/run/run_references.h>
#include <medley/run/run_rules.h>
#include <medley/run/special_names.h>
#include <medley/session/parts.h>
#include <medley/session/same_start.h>
#include <medley/train/event_command.h>
#include <medley/train/resumed_weights.h>
#include <medley/update/kept_bytes.h>
#include <medley/update/parameter_groups.h>
#include <medley/update/shards.h>

namespace medley {
namespace {

namespace fs = std::filesystem;

void Append(const std::vector<std::string>& more, std::vector<std::string>& patterns) {
  patterns.insert(patterns.end(), more.begin(), more.end());
}

RunInputs InputsOf(const BeginRequest& request, const RepeatedRun* repeated) {
  std::vector<std::string> overrides = request.overrides;
  std::optional<WeightsText> weights;
  if (repeated != nullptr) {  // whatever became of the original
    weights = repeated->weights();
    overrides.push_back("weights=" + weights->file.string());
    overrides = WithEarlierDefaults(repeated->starts().front().config, overrides);
  }
  RunInputs inputs = CheckInputs(request.config, overrides, request.plugins, RunAge::kBegins, weights);
  for (const auto& folder :
       {inputs.checked.model->config.pretrained(), inputs.checked.model->config.pretrained_tower()})
    PublishedFiles{.folder = folder}.RequireWeights();
  if (repeated != nullptr) {
    inputs.rules = RulesOfRun(repeated->directory(), repeated->starts().front().config, inputs);
    inputs.kernels = KernelsOf(repeated->directory());
  }
  RunConfig& config = inputs.checked.run;
  Append(request.allow_missing, config.allow_missing);
  Append(request.allow_unexpected, config.allow_unexpected);
  if (repeated != nullptr) repeated->RequireSame(inputs);
  if (!request.profile.empty() && !config.plan)
    throw InputError("--profile " + Printable(request.profile) +
                     ": nothing is planned, because \"plan\" is false. Leave one of them out");
  return inputs;
}

// A new run's own weights file. Whatever log of its changes lies there is another run's.
FoundWeights BeginWeights(const Run& run, const fs::path& directory, Console& console) {
  const fs::path own = directory / kRunWeights, log = directory / kWeightLog;
  if (TypeOf(log) != fs::file_type::not_found)
    console.Warn(Printable(log) + " is not of this run; it is now " +
                 RenameAside(log, kWeightLog).filename().string());
  const std::string text = WithAbsoluteSchema(run.weights_text, run.config.weights.parent_path());
  ReplaceFile(own, text);
  console.Say("its weights are a copy, " + Printable(own) + ": edit that one, also while the run goes on");
  return {.text = text, .text_of_file = text};
}

// Published weights stay as they are beside adapters.
void WarnOfMuon(const Run& run, Console& console) {
  const bool published = !run.taken.empty() && !run.Adapted().any();
  if (!published && run.config.init_from.run.empty()) return;
  if (!Trains(run.config.optimizer, *run.model, RuleName::kMuon)) return;
  console.Warn(std::string("optimizer: Muon begins with ") +
               (published ? "published weights" : "another run's parameters") +
               ". If AdamW trained them, that came out worse than AdamW in every public test of full "
               "fine-tuning");
}

}  // namespace

void SayWhatRuns(const Run& run, Console& console) {
  for (const std::string& line : run.registry->Choices(run.NamedTasks())) console.Say(line);
  console.Detail(run.budget.Words());
  if (!run.cluster->device_words().empty()) console.Say(run.cluster->device_words());
  if (!run.kernel_words.empty()) console.Warn(run.kernel_words);
  if (run.cluster->place().size > 1)
    console.Detail("a process that does not answer for " + std::to_string(run.config.peer_timeout) +
                   " s ends the others (peer_timeout)");
  const OptimizerConfig& optimizer = run.config.optimizer;
  console.Detail(GroupsTable(*run.model, optimizer, run.Shard()));
  for (const std::string& words :
       {RuleWords(*run.model, optimizer), ShardWords(*run.model, optimizer, run.Shard())}) {
    if (!words.empty()) console.Say(words);
  }
  for (const std::string& words : run.references->Words()) console.Detail(words);
  if (optimizer.average > 0)
    console.Detail("evaluations, sheets and exports read the average of the parameters (optimizer.average)");
}

void SayHowFilesAreRead(const Run& run, Console& console) {
  for (const std::string& words : run.rules->TakeWords()) console.Say(words);
  if (!run.cluster->is_first()) return;
  for (const std::string& words : SpecialNameWords(run)) console.Say(words);
}

std::vector<std::string> TakeStartingWeights(const Run& run, Console& console) {
  std::vector<std::string> words = {
      run.taken,
      InitializeFrom(run.config.init_from, run.optimizer->weights(), console, run.Adapted(),
                     ParametersOfNewClasses(run)),
      BeginAdapters(run),
  };
  std::erase(words, "");
  WarnOfMuon(run, console);
  return words;
}

void SayThatAResumeGoesOn(const fs::path& run) { SetNextCommand(ResumeCommand(run)); }

void RecordStart(const Run& run, const RunDirectory& directory, std::int64_t step, bool unevaluated) {
  nlohmann::ordered_json record = RunRecord(run);
  record["places"] = PlacesRecord(directory.path(), run.config_file);
  record["step"] = step;
  record["unevaluated"] = unevaluated;
  if (nlohmann::ordered_json rules = run.rules->Json(); !rules.is_null()) {
    record["data_rules"] = std::move(rules);
    run.rules->Kept();
  }
  if (run.kernels) record[kKernels] = ToJson(*run.kernels);
  if (!run.references->names().empty()) record[kReferences] = ReferencesRecord(run, directory.path());
  record["config"] = directory.WriteConfig(ToJson(run.config)).filename().string();
  directory.WriteRecord(std::move(record));
}

std::shared_ptr<Cluster> ClusterOf(const std::shared_ptr<Cluster>& asked) {
  return asked ? asked : std::make_shared<Cluster>();
}

std::unique_ptr<Run> BuildBeginning(const BeginRequest& request, Console& console) {
  RunInputs inputs = InputsOf(request, nullptr);
  CheckDataFiles(inputs.checked.run, inputs.checked.curriculum, inputs.registry);
  auto run =
      BuildRun(std::move(inputs), Purpose::kTrain, StartingWeights::kPretrained, ClusterOf(request.cluster));
  SayHowFilesAreRead(*run, console);
  for (const std::string& words : TakeStartingWeights(*run, console)) console.Say(words);
  for (const std::string& words : BeginReferences(*run, console)) console.Say(words);
  return run;
}

std::unique_ptr<SessionParts> BeginRun(const BeginRequest& request, const fs::path& at,
                                       const RepeatedRun* repeated, Console& console) {
  const std::shared_ptr<Cluster> cluster = ClusterOf(request.cluster);
  RunInputs inputs = InputsOf(request, repeated);
  if (cluster->is_first()) RunDirectory::CheckFree(at);
  std::vector<std::string> on_event;
  if (cluster->is_first() && repeated == nullptr)  // what is repeated happened before
    on_event = ConfirmOnEvent(inputs.checked.run.on_event, request.config,
                              {.overrides = request.overrides, .allow_config = request.allow_on_event});
  cluster->FirstAlone(
      [&] { CheckDataFiles(inputs.checked.run, inputs.checked.curriculum, inputs.registry); });
  const std::string threads =
      ThreadsWarning(cluster->place().local_size * inputs.checked.run.threads, Cores());
  const std::vector<std::string> odd = WhatChangesTraining(inputs.checked, inputs.registry);
  const std::vector<std::string> moved = inputs.moved.AllWords();
  auto planned = std::make_unique<PlannedRun>(
      BuildRun(std::move(inputs), Purpose::kTrain, StartingWeights::kPretrained, cluster), console);
  const Run& run = *planned->run;
  RequireSameStart(run);
  if (!threads.empty()) console.Warn(threads);
  for (const std::string& words : odd) console.Warn(words);
  std::vector<std::string> taken = TakeStartingWeights(run, console);
  if (repeated == nullptr)
    Append(BeginReferences(run, console), taken);
  else
    RepeatReferences(run, RunOfRank(repeated->directory(), cluster->place().rank));
  planned->admission.PlanNamed(request.profile, repeated != nullptr ? repeated->PlanOf(0) : EarlierPlan());
  if (cluster->alone()) HeedInterrupt();  // several stop together, at their first step
  std::shared_ptr<const RunDirectory> directory;
  cluster->FirstAlone([&] {
    const fs::path own = DirectoryOfRank(at, cluster->place().rank);
    if (!cluster->is_first()) fs::remove_all(own);  // what an earlier start left
    directory = std::make_shared<const RunDirectory>(RunDirectory::Create(own));
  });
  const fs::path& path = directory->path();
  console.LogTo(path / kConsoleLog);
  planned->admission.SaveIn(path);
  SaveReferences(run, path);
  console.Say("the run lies in " + path.string());
  for (const std::string& words : moved) console.Say(words);
  SayWhatRuns(run, console);
  SayHowFilesAreRead(run, console);
  for (const std::string& words : taken) console.Say(words);
  WeightLog log(path, WeightLines());
  TrainerStart start{.directory = path};
  if (repeated == nullptr) {
    start.weights = BeginWeights(run, path, console);
  } else {
    repeated->GiveEditsTo(path, console);
    ResumedWeights weights = ResumeWeights(path, std::nullopt, console);
    log = std::move(weights.log);
    start.weights = {run.weights_text, std::move(weights.text_of_file), weights.edited};
    start.script = repeated->ScriptOf(0);
  }
  RecordStart(run, *directory, 0, false);
  if (repeated == nullptr) SayThatAResumeGoesOn(at);  // of one that repeats it would train something else
  auto parts = std::make_unique<SessionParts>(directory, std::move(planned), std::move(log), std::move(start),
                                              console);
  parts->TellEvents(std::move(on_event), run.curriculum.stages.front().name, console);
  return parts;
}

}  // namespace medley
