#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/base/interrupt.h>
#include <medley/checkpoint/run_directory.h>
#include <medley/config/threads.h>
#include <medley/run/run.h>
#include <medley/step/parameter_groups.h>
#include <medley/train/stop_signal.h>

#include "tools/medley/arguments.h"
#include "tools/medley/replay.h"
#include "tools/medley/training.h"
#include "tools/medley/verbs.h"

namespace medley {

namespace {

struct NewRun {
  RunInputs inputs;
  std::filesystem::path path;
  std::string profile;             // "": none
  const Replay* replay = nullptr;  // null: repeats none
};

// Until it ends, or as far as the first start of the run that it repeats came.
ExitCode Begin(NewRun made, std::optional<RunDirectory>& directory) {
  const std::string threads = ThreadsWarning(made.inputs.checked.run.threads, Cores());
  const auto run = BuildRun(std::move(made.inputs), Purpose::kTrain, StartingWeights::kPretrained);
  Console early(stdout);  // nothing is left behind where a mistake shows only now
  if (!threads.empty()) early.Warn(threads);
  const std::string taken =
      InitializeFrom(run->config.init_from, run->optimizer->weights(), early, run->Adapted());
  const std::string adapters = BeginAdapters(*run);
  Training training(*run);
  try {
    training.Plan(made.profile, made.replay != nullptr ? made.replay->FirstPlan() : EarlierPlan{}, early);
  } catch (const Interrupted&) {  // not 130: that number promises a saved run
    throw Error("interrupted before the first step; nothing was trained and nothing is saved");
  }
  directory.emplace(RunDirectory::Create(made.path));
  Console console(stdout, directory->path() / "log.txt");
  console.Say("the run lies in " + directory->path().string());
  for (const std::string& line : run->registry->Choices(run->NamedTasks())) console.Say(line);
  console.Say(run->budget.Words());
  console.Say(GroupsTable(*run->model, run->config.optimizer));
  for (const std::string& words : {run->taken, taken, adapters}) {
    if (!words.empty()) console.Say(words);
  }
  training.SavePlan(*directory, console);
  std::optional<RunScript> script;
  if (made.replay == nullptr) {
    training.BeginWeights(*directory, console);
  } else {
    script = made.replay->script();
    made.replay->GiveEditsTo(*directory, console);
    training.GoOnWithWeights(*directory, ResumeWeights(directory->path(), std::nullopt, console), console);
  }
  training.Record(*directory, 0, false);
  return training.MakeTrainer(*directory, console, std::nullopt, script)->Train();
}

}  // namespace

int RunTrain(int argc, char** argv) {
  CLI::App app("Trains a model as a run config says. The run's directory then holds everything of it.",
               "medley train");
  std::string config, out, budget, profile, replayed;
  std::vector<std::string> overrides;
  NamedPlugins plugins;
  app.add_option("CONFIG", config, "the run config")->required();
  app.add_option("KEY=VALUE", overrides, "values that replace the config's, such as steps=100");
  app.add_option("--out", out, "the run's directory (default: runs/<config>-<time>)");
  AddBudget(app, budget);
  app.add_option("--profile", profile,
                 "profile.json of medley plan or of another run: what it holds is not measured again");
  app.add_option(
      "--replay", replayed,
      "the directory of a run that began with this config: repeats it, with the edits of its weights, "
      "its early decay and what its resumes changed, to the same metrics.jsonl");
  std::vector<std::string> allow_missing;
  app.add_option(
         "--allow-missing", allow_missing,
         "patterns of parameters that the weights of a pretrained model may lack; beside those of the "
         "config's allow_missing")
      ->type_name("PATTERN")
      ->allow_extra_args(false);  // the arguments behind it are the config's
  std::int64_t allow_new_rows = -1;
  app.add_option(
         "--allow-new-rows", allow_new_rows,
         "how many tokens of the vocabulary a pretrained model may not know, beside those that medley adds; "
         "instead of the config's allow_new_rows")
      ->type_name("N")
      ->check(WholeNumber(0, 1 << 24));
  AddPlugins(app, plugins);
  if (!ParseArguments(app, argc, argv)) return 0;
  std::signal(SIGPIPE, SIG_IGN);  // a run outlives whoever reads its lines
  const StopSignal stop;
  if (!budget.empty()) overrides.push_back("budget=" + budget);
  if (allow_new_rows >= 0) overrides.push_back("allow_new_rows=" + std::to_string(allow_new_rows));

  const std::filesystem::path path = out.empty() ? DefaultRunPath(config) : std::filesystem::path(out);
  CheckOutDirectory(path);
  std::optional<Replay> replay;
  if (!replayed.empty()) {
    replay.emplace(replayed);
    overrides.push_back("weights=" + replay->weights().file.string());  // whatever became of the original
  }
  RunInputs inputs = CheckInputs(config, overrides, plugins, RunState::kBegins,
                                 replay ? std::optional(replay->weights()) : std::nullopt);
  auto& may_miss = inputs.checked.run.allow_missing;
  may_miss.insert(may_miss.end(), allow_missing.begin(), allow_missing.end());
  if (replay) replay->RequireSame(inputs.checked.run);
  if (!profile.empty() && !inputs.checked.run.plan) {
    throw InputError("--profile " + profile +
                     ": nothing is planned, because \"plan\" is false. Leave one of them out");
  }
  RunDirectory::CheckFree(path);
  std::optional<RunDirectory> directory;
  const ExitCode code = Begin(
      {.inputs = std::move(inputs), .path = path, .profile = profile, .replay = replay ? &*replay : nullptr},
      directory);
  return replay ? replay->GoOnWith(*directory, code, plugins) : static_cast<int>(code);
}

}  // namespace medley
