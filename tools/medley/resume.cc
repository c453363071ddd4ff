#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <medley/base/interrupt.h>
#include <medley/checkpoint/checkpoint.h>
#include <medley/checkpoint/run_directory.h>
#include <medley/config/threads.h>
#include <medley/curriculum/weight_log.h>
#include <medley/run/config_change.h>
#include <medley/run/run.h>
#include <medley/run/run_record.h>
#include <medley/step/parameter_groups.h>
#include <medley/train/stop_signal.h>

#include "tools/medley/arguments.h"
#include "tools/medley/resume.h"
#include "tools/medley/training.h"
#include "tools/medley/verbs.h"

namespace medley {
namespace {

// Of the config, against what the checkpoint was trained with, or the file where there is none. Throws for
// what must not change.
std::vector<std::string> ConfigChanges(const RunDirectory& directory,
                                       const std::optional<FoundCheckpoint>& found,
                                       const std::filesystem::path& file, const RunInputs& inputs) {
  const RunConfig& now = inputs.checked.run;
  const nlohmann::ordered_json resolved = ToJson(now), record = ReadRunRecord(directory.path());
  RequireRecordedInputs(record, now, inputs.registry, inputs.checked.model->config.pretrained());
  if (!found)  // whatever became of the file that its weights were copied from
    return CompareConfigs(
        ToJson(ReadRunConfig(file, {"weights=" + (directory.path() / kRunWeights).string()})), resolved, {});
  const nlohmann::ordered_json before = TrainedConfig(directory.path(), found->facts);
  if (before.is_object()) return CompareConfigs(before, resolved, TrainedTasks(found->path));
  if (record.is_object() && record.value("seed", now.seed) != now.seed)
    return CompareConfigs({{"seed", record.at("seed")}}, {{"seed", now.seed}}, {});
  return {"the config, in keys that an older checkpoint does not tell"};
}

void SayWhatChanged(Console& console, std::vector<std::string> changes, const Run& run,
                    const nlohmann::ordered_json& old_record) {
  for (std::string& change : changes) {
    if (change.starts_with("steps: "))
      change += "; the learning rate is a function of them, from here on that of the new number";
  }
  for (const std::string& change : CompareRecord(old_record, RunRecord(run), run.NamedTasks()))
    changes.push_back(change);
  for (const std::string& change : changes) console.Say("changed: " + change);
}

void SayWhatWasRestored(Console& console, const Run& run, const FoundCheckpoint& found) {
  console.Say("restored step " + std::to_string(found.facts.step) + " from " + found.path.string() + ": " +
              std::to_string(run.model->parameters().size()) + " parameters, " +
              std::to_string(run.optimizer->State().size()) +
              " tensors of the optimizer, the mixer, the generators");
  std::string rows;
  for (const auto& [task, share] : run.mixer->Shares())
    rows += "  " + task + " " + std::to_string(share.rows);
  console.Say("rows so far:" + rows);
}

struct Resumed {
  std::optional<FoundCheckpoint> found;
  bool reported = true;  // its last step
  ResumedWeights weights;
  RunInputs inputs;
  std::optional<Curriculum> edit;  // of the weights, since they were written down last
  std::vector<std::string> changes;
};

// All that can be known before anything changes.
Resumed ReadRun(const RunDirectory& directory, const ResumeRequest& request, Console& console) {
  const std::filesystem::path config =
      request.config.empty() ? NewestConfig(directory.path()) : request.config;
  const auto found = FindCheckpoint(directory.path(), OnDamage::kSetAside, console);
  ResumedWeights weights = ResumeWeights(directory.path(), found, console);
  RunInputs inputs =
      CheckInputsOf(directory.path(), request.overrides, weights.then, config, request.plugins);
  std::optional<Curriculum> edit;
  if (weights.edited) {
    const Curriculum& before = inputs.checked.curriculum;
    edit = CheckEdit(
        {directory.path() / kRunWeights, weights.text_of_file}, inputs.checked.run,
        inputs.checked.model->info, inputs.registry, WeightsOf::kUser,
        [&](ConfigFile& file, const Curriculum& next) { CheckWhatStays(file, before, next, weights.place); });
  }
  auto changes = ConfigChanges(directory, found, config, inputs);
  return {.found = found,
          .reported = !found || Trainer::IsReported(found->path),
          .weights = std::move(weights),
          .inputs = std::move(inputs),
          .edit = std::move(edit),
          .changes = std::move(changes)};
}

// The tasks that the edit brings are planned with the others: where one does not fit, nothing has changed.
void PlanWithEdit(Training& training, const RunDirectory& directory, const std::optional<Curriculum>& edit,
                  Console& console) {
  training.Plan("", {.directory = directory.path()}, console);
  if (edit && training.HasNew(*edit)) training.Admit(*edit);
}

}  // namespace

int GoOn(const RunDirectory& directory, const ResumeRequest& request, Console& console) {
  Resumed resumed = ReadRun(directory, request, console);
  const std::optional<FoundCheckpoint>& found = resumed.found;
  const RunConfig& config = resumed.inputs.checked.run;
  if (found && found->facts.step >= config.steps && resumed.reported) {
    ReplaceDamagedLog(directory.path(), resumed.weights, console);
    console.Say("all " + std::to_string(found->facts.step) + " steps are done; to go on: medley resume " +
                directory.path().string() + " --steps N (N in all)");
    return 0;
  }
  const std::string threads = ThreadsWarning(config.threads, Cores());
  if (!threads.empty()) console.Warn(threads);
  const auto run = BuildRun(std::move(resumed.inputs), Purpose::kTrain,
                            found ? StartingWeights::kFresh : StartingWeights::kPretrained);
  SayWhatChanged(console, resumed.changes, *run, ReadRunRecord(directory.path()));
  for (const std::string& line : run->registry->Choices(run->NamedTasks())) console.Say(line);
  console.Say(run->budget.Words());
  console.Say(GroupsTable(*run->model, run->config.optimizer));
  if (!found) {
    const std::string taken =
        InitializeFrom(run->config.init_from, run->optimizer->weights(), console, run->Adapted());
    const std::string adapters = BeginAdapters(*run);
    for (const std::string& words : {run->taken, taken, adapters}) {
      if (!words.empty()) console.Say(words);
    }
  }
  Training training(*run);
  try {
    PlanWithEdit(training, directory, resumed.edit, console);
  } catch (const Interrupted&) {
    console.Say("interrupted while planning; the run is as it was, medley resume " +
                directory.path().string() + " goes on");
    return static_cast<int>(ExitCode::kInterrupted);
  }
  training.KeepEarlierPlan(directory);
  training.SavePlan(directory, console);
  training.GoOnWithWeights(directory, std::move(resumed.weights), console);
  const auto trainer = training.MakeTrainer(directory, console, found, request.script);
  if (found) SayWhatWasRestored(console, *run, *found);
  if (!found) console.Say("no checkpoint was saved so far; starting at step 0");
  training.Record(directory, found ? found->facts.step : 0, !resumed.reported);
  return static_cast<int>(trainer->Train());
}

int RunResume(int argc, char** argv) {
  CLI::App app(
      "Goes on with a run from its newest whole checkpoint. KEY=VALUE replaces what may change: steps, "
      "hours, optimizer, checkpoint, eval, data, threads, budget and the like; the seed and what decides "
      "rows may not.",
      "medley resume");
  std::filesystem::path path;
  std::int64_t steps = 0;
  app.add_option("DIR", path, "the run's directory")->required();
  app.add_option("--steps", steps, "steps in all, instead of the config's")
      ->check(WholeNumber(1, static_cast<std::int64_t>(kLargestInteger)));
  std::vector<std::string> overrides;
  app.add_option("KEY=VALUE", overrides,
                 "values that replace the run's, such as optimizer.learning_rate=1e-4");
  std::string budget;
  AddBudget(app, budget);
  NamedPlugins plugins;
  AddPlugins(app, plugins);
  if (!ParseArguments(app, argc, argv)) return 0;
  std::signal(SIGPIPE, SIG_IGN);  // a run outlives whoever reads its lines
  const StopSignal stop;

  const RunDirectory directory = RunDirectory::Open(path);
  Console console(stdout, directory.path() / "log.txt");
  if (!directory.took_over().empty()) console.Say("took over the stale lock of " + directory.took_over());
  if (!budget.empty()) overrides.push_back("budget=" + budget);
  if (steps > 0) overrides.push_back("steps=" + std::to_string(steps));
  return GoOn(directory, {.overrides = std::move(overrides), .plugins = std::move(plugins)}, console);
}

}  // namespace medley
