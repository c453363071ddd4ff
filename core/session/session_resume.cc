#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include <medley/base/interrupt.h>
#include <medley/base/json_text.h>
#include <medley/base/next_command.h>
#include <medley/base/printable.h>
#include <medley/checkpoint/checkpoint_search.h>
#include <medley/checkpoint/go_back.h>
#include <medley/checkpoint/rank_directories.h>
#include <medley/config/config_file.h>
#include <medley/config/threads.h>
#include <medley/report/screen.h>
#include <medley/report/table.h>
#include <medley/run/config_change.h>
#include <medley/run/data_files.h>
#include <medley/run/rules_record.h>
#include <medley/run/run_record.h>
#include <medley/run/run_references.h>
#include <medley/run/run_rules.h>
#include <medley/session/longer_run.h>
#include <medley/session/parts.h>
#include <medley/session/same_start.h>
#include <medley/step/schedule.h>
#include <medley/train/event_command.h>
#include <medley/train/resumed_weights.h>

namespace medley {
namespace {

namespace fs = std::filesystem;

double ScheduledRate(const RunConfig& config, std::int64_t step) {
  const OptimizerConfig& optimizer = config.optimizer;
  return optimizer.learning_rate * ScheduleScale(optimizer, DecayOf(optimizer, config.steps), step - 1);
}

// What a run was trained with.
RunConfig ConfigIn(const nlohmann::ordered_json& resolved) {
  RunConfig config;
  Diagnostics ignored;
  ConfigFile file("the config of the last start", JsonText(resolved), ignored);
  ReadConfig(file, config);
  return config;
}

// What another number of steps does to the rate, which is a function of them. Hours decide otherwise.
std::string RateWords(const nlohmann::ordered_json& before, const RunConfig& now, std::int64_t step) {
  const RunConfig then = ConfigIn(before);
  const double last = ScheduledRate(then, step), next = ScheduledRate(now, step + 1);
  std::string words = "; the learning rate is a function of them";
  if (now.optimizer.schedule == "one_cycle")
    words +=
        ", and with one_cycle each number of steps is another run, from the first one on (to begin anew with "
        "these parameters: medley train CONFIG init_from.run=DIR)";
  if (step == 0 || then.hours > 0 || now.hours > 0 || !(last > 0)) return words;
  if (ScheduledRate(now, step) == last) return words + ", and goes on as it was";
  return words + ": that of step " + std::to_string(step + 1) + " is " + FormatNumber(next / last) +
         " times that of step " + std::to_string(step);
}

// Of the config, against what the checkpoint was trained with, or the file where there is none. Throws for
// what must not change.
std::vector<std::string> ConfigChanges(const fs::path& directory, const std::optional<FoundCheckpoint>& found,
                                       const fs::path& file, const RunInputs& inputs,
                                       const nlohmann::ordered_json& record,
                                       const std::set<std::string>& same_files) {
  const RunConfig& now = inputs.checked.run;
  const nlohmann::ordered_json resolved = ToJson(now);
  if (!found) {  // whatever became of the file that its weights were copied from
    const std::string own = "weights=" + (directory / kRunWeights).string();
    nlohmann::ordered_json began = ToJson(ReadWrittenConfig(file, WithEarlierDefaults(file, {own})));
    TakePaths(same_files, resolved, began);
    return CompareConfigs(began, resolved, {});
  }
  nlohmann::ordered_json before = TrainedConfig(directory, found->facts);
  if (before.is_object()) {
    TakePaths(same_files, resolved, before);
    std::vector<std::string> changes = CompareConfigs(before, resolved, TrainedTasks(found->path));
    for (std::string& change : changes) {
      if (change.starts_with("steps: ")) change += RateWords(before, now, found->facts.step);
    }
    return changes;
  }
  if (record.is_object() && record.value("seed", now.seed) != now.seed)
    return CompareConfigs({{"seed", record.at("seed")}}, {{"seed", now.seed}}, {});
  return {"the config, in keys that an older checkpoint does not tell"};
}

void SayWhatChanged(Console& console, std::vector<std::string> changes, const Run& run,
                    const nlohmann::ordered_json& old_record, const fs::path& directory) {
  for (const std::string& change : CompareRecord(old_record, RunRecord(run), run.NamedKinds(), directory))
    changes.push_back(change);
  for (const std::string& change : changes) console.Say("changed: " + change);
}

void SayWhatWasRestored(Console& console, const Run& run, const FoundCheckpoint& found) {
  console.Say("restored step " + std::to_string(found.facts.step) + " from " + Printable(found.path) + ": " +
              std::to_string(run.model->parameters().size()) + " parameters, " +
              std::to_string(run.optimizer->State().size() + run.optimizer->Parts().size()) +
              " tensors of the optimizer, the mixer, the generators");
  std::string rows;
  for (const auto& [task, share] : run.mixer->Shares())
    rows += "  " + task + " " + std::to_string(share.rows);
  console.Say(Prose("rows so far:" + rows));
}

// All that can be known of a run before anything changes.
struct ReadRun {
  std::optional<FoundCheckpoint> found;
  bool goes_back = false;  // newer ones are there
  bool reported = true;    // its last step
  ResumedWeights weights;
  RunInputs inputs;
  std::optional<Curriculum> edit;  // of the weights, since they were written down last
  nlohmann::ordered_json record;   // of the last start, with what it was told changed since
  RecordedInputs files;            // what became of them
  std::vector<std::string> changes;

  bool IsDone() const { return found && found->facts.step >= inputs.checked.run.steps && reported; }
};

// Throws for what a run cannot take over where it is.
Curriculum TakenEdit(const fs::path& directory, const ResumedWeights& weights, const RunInputs& inputs) {
  const Curriculum& before = inputs.checked.curriculum;
  return CheckEdit(
      {directory / kRunWeights, weights.text_of_file}, inputs.checked.run, inputs.checked.model->info,
      inputs.registry, WeightsOf::kUser,
      [&](ConfigFile& file, const Curriculum& next) { CheckWhatStays(file, before, next, weights.place); });
}

// An edit gives a last stage another end, which it can have only before it cooled.
std::string WordsOfCooldown(const FoundCheckpoint& earlier, const FoundCheckpoint& newest) {
  return "goes on from step " + std::to_string(earlier.facts.step) +
         ", behind which its last stage cooled, and not from step " + std::to_string(newest.facts.step) +
         ": what was edited is the end of that stage";
}

// From this checkpoint, or an older one where that is the one for what is asked now. `goes_back`: it was
// chosen, and newer ones are there. A run that is repeated goes on as it did.
ReadRun ReadAt(const fs::path& directory, const ResumeStart& start, std::optional<FoundCheckpoint> found,
               bool goes_back, Console& console) {
  const fs::path config = start.config.empty() ? NewestConfig(directory) : start.config;
  const fs::path& run = start.run.empty() ? directory : start.run;
  const bool chooses = found && !goes_back && !start.script;
  const auto at = [&](FoundCheckpoint earlier) {
    return ReadAt(directory, start, std::move(earlier), /*goes_back=*/true, console);
  };
  ResumedWeights weights = ResumeWeights(directory, found, console);
  RunInputs inputs = CheckInputsOf(directory, start.request.overrides, weights.then, config,
                                   start.request.plugins, start.request.allow_changed);
  if (const auto then = chooses ? TrainedConfig(directory, found->facts) : nullptr; then.is_object()) {
    if (auto earlier = BeforeTheFall(run, *found, ConfigIn(then), inputs.checked.run, console))
      return at(*std::move(earlier));
  }
  std::optional<Curriculum> edit;
  try {
    if (weights.edited) edit = TakenEdit(directory, weights, inputs);
  } catch (const InputError&) {
    const auto earlier = chooses ? BeforeTheCooldown(run, *found) : std::nullopt;
    if (!earlier) throw;
    ReadRun read = at(*earlier);  // which may refuse it, too
    console.Say(WordsOfCooldown(*earlier, *found));
    return read;
  }
  nlohmann::ordered_json record = ReadRunRecord(directory);
  MovePlugins(inputs.moved, record);
  RecordedInputs files = RequireRecordedInputs(record, inputs, directory, start.request.allow_changed);
  auto changes = ConfigChanges(directory, found, config, inputs, record, files.known);
  return {.found = found,
          .goes_back = goes_back,
          .reported = !found || Trainer::IsReported(found->path),
          .weights = std::move(weights),
          .inputs = std::move(inputs),
          .edit = std::move(edit),
          .record = std::move(record),
          .files = std::move(files),
          .changes = std::move(changes)};
}

ReadRun Read(const fs::path& directory, const ResumeStart& start, Console& console) {
  const fs::path& run = start.run.empty() ? directory : start.run;
  const auto found =
      start.request.from
          ? CheckpointOf(run, *start.request.from)
          : FindCheckpoint(run, start.run.empty() ? OnDamage::kSetAside : OnDamage::kSkip, console);
  return ReadAt(directory, start, found, start.request.from.has_value(), console);
}

void SayWhatBecameOf(const RecordedInputs& files, Console& console) {
  for (const std::string& words : files.moved) console.Say(words);
  for (const InputChange& file : files.allowed)
    console.Say(file.any() ? "changed, as --allow-changed allows: " + file.Words()
                           : file.path + " is what the run knows already; --allow-changed is not needed");
}

// Behind those of before the checkpoint. `now`: an entry with what is so now. A run without a log has no
// history so far: its first entry is of its first step.
void LogChangedFiles(const std::vector<WeightEntry>& earlier, const std::vector<InputChange>& files,
                     WeightEntry now, WeightLog& log) {
  if (log.entries().empty()) return;
  const auto add = [&](const std::string& name, const std::string& words) {
    now.name = name;
    now.words = words;
    log.Add(now);
  };
  for (const WeightEntry& entry : earlier) add(entry.name, entry.words);
  for (const InputChange& file : files) {
    if (file.any()) add(file.name, file.Words());
  }
}

// Of a run whose steps are done: where files are now that the user named. Evaluations and exports read them
// from there. False: there is nothing new.
bool RecordNamedPlaces(const RunDirectory& directory, const ResumeRequest& request, ReadRun& read) {
  std::set<std::string> named;
  for (const std::string& given : request.overrides) {
    if (std::string key = given.substr(0, given.find('=')); read.files.known.contains(key))
      named.insert(std::move(key));
  }
  const nlohmann::ordered_json before = ReadResolved(NewestConfig(directory.path()));
  nlohmann::ordered_json config = before;
  TakePaths(named, ToJson(read.inputs.checked.run), config);
  if (config == before) return false;
  for (const std::string& key : named) read.record["inputs"][key] = read.files.now.at(key);
  read.record["config"] = directory.WriteConfig(config).filename().string();
  return true;
}

// Of a run whose steps are done: evaluations compare with its record.
void RecordChangedFiles(const RunDirectory& directory, const ResumeRequest& request, ReadRun& read,
                        std::int64_t step, Console& console) {
  SayWhatBecameOf(read.files, console);
  const std::vector<InputChange>& allowed = read.files.allowed;
  const bool named = RecordNamedPlaces(directory, request, read);
  if (!named && std::ranges::none_of(allowed, [](const auto& file) { return file.any(); })) return;
  WeightLog& log = read.weights.log;
  WeightEntry now = log.entries().empty() ? WeightEntry() : log.entries().back();
  now.step = step;
  now.cause = WeightEntry::Cause::kChangedFile;
  now.before = now.after;
  now.text.clear();
  LogChangedFiles(read.weights.changed_files, allowed, now, log);
  read.record["step"] = step;
  read.record["unevaluated"] = false;
  directory.WriteRecord(read.record);
}

}  // namespace

ResumedRun ResumeRun(std::shared_ptr<const RunDirectory> directory, const ResumeStart& start,
                     Console& console) {
  const fs::path& path = directory->path();
  const std::shared_ptr<Cluster> cluster = ClusterOf(start.request.cluster);
  ReadRun read = Read(path, start, console);
  const std::optional<FoundCheckpoint> found = read.found;
  const std::int64_t step = found ? found->facts.step : 0;
  if (read.IsDone()) {
    ReplaceDamagedLog(path, read.weights, console);
    RecordChangedFiles(*directory, start.request, read, step, console);
    console.Say("all " + std::to_string(step) + " steps are done; to go on: medley resume " +
                ShellWord(path.string()) + " --steps N (N in all)");
    return {nullptr, step};
  }
  std::vector<std::string> on_event;
  if (cluster->is_first() && !start.script)  // a run that is repeated tells nobody
    on_event =
        ConfirmOnEvent(read.inputs.checked.run.on_event, NewestConfig(path),
                       {.overrides = start.request.overrides, .allow_config = start.request.allow_on_event});
  cluster->FirstAlone(
      [&] { CheckDataFiles(read.inputs.checked.run, read.inputs.checked.curriculum, read.inputs.registry); });
  const std::string threads =
      ThreadsWarning(cluster->place().local_size * read.inputs.checked.run.threads, Cores());
  if (!threads.empty()) console.Warn(threads);
  auto planned = std::make_unique<PlannedRun>(
      BuildRun(std::move(read.inputs), Purpose::kTrain,
               found ? StartingWeights::kFresh : StartingWeights::kPretrained, cluster),
      console);
  const Run& run = *planned->run;
  RequireSameStart(run, found ? found->path.filename().string() : "");
  const fs::path first = RunOfRank(path, cluster->place().rank);  // which keeps what all have
  RestoreReferences(run, first);
  SayWhatBecameOf(read.files, console);
  SayWhatChanged(console, read.changes, run, read.record, path);
  SayWhatRuns(run, console);
  if (!read.record.contains(kDataRules) && run.rules->NamesAreText())
    console.Warn(
        (path / "run.json").string() +
        " does not say any more what is held out: that is decided anew from the files as they are. "
        "Where they have changed, items may be held out that were trained on; restore it if you can");
  SayHowFilesAreRead(run, console);
  if (!found) {
    for (const std::string& words : TakeStartingWeights(run, console)) console.Say(words);
    run.references->Begin();  // averages
  }
  Admission& admission = planned->admission;
  // The tasks that an edit brings are planned with the others: where one does not fit, nothing has changed.
  admission.PlanNamed("", {.directory = path});
  if (read.edit && admission.Learn(*read.edit)) admission.Admit(*read.edit);
  if (cluster->alone()) HeedInterrupt();  // several stop together, at their first step
  if (const std::string plan = admission.PlanText(); !plan.empty()) KeepPlan(path, plan);
  admission.SaveIn(path);
  ReplaceDamagedLog(path, read.weights, console);
  if (read.goes_back && start.run.empty()) SetNewerAside(path, *found, console);
  TrainerStart begin{.directory = path,
                     .from = found,
                     .weights = {run.weights_text, read.weights.text_of_file, read.weights.edited},
                     .script = start.script};
  auto parts = std::make_unique<SessionParts>(directory, std::move(planned), std::move(read.weights.log),
                                              std::move(begin), console);
  LogChangedFiles(read.weights.changed_files, read.files.allowed,
                  EntryOf(*run.mixer, step, WeightEntry::Cause::kChangedFile, "", SharesNow(*run.mixer)),
                  parts->log);
  if (found) SayWhatWasRestored(console, run, *found);
  if (!found) console.Say("no checkpoint was saved so far; starting at step 0");
  RecordStart(run, *directory, step, !read.reported);
  parts->TellEvents(std::move(on_event), step == 0 ? run.curriculum.stages.front().name : "", console);
  return {std::move(parts), step};
}

}  // namespace medley
