#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/base/interrupt.h>
#include <medley/checkpoint/run_directory.h>
#include <medley/config/threads.h>
#include <medley/run/run.h>
#include <medley/train/stop_signal.h>

#include "tools/medley/arguments.h"
#include "tools/medley/training.h"
#include "tools/medley/verbs.h"

namespace medley {

int RunTrain(int argc, char** argv) {
  CLI::App app("Trains a model as a run config says. The run's directory then holds everything of it.",
               "medley train");
  std::string config, out, budget, profile;
  std::vector<std::string> overrides;
  std::vector<std::filesystem::path> plugin_path;
  app.add_option("CONFIG", config, "the run config")->required();
  app.add_option("KEY=VALUE", overrides, "values that replace the config's, such as steps=100");
  app.add_option("--out", out, "the run's directory (default: runs/<config>-<time>)");
  AddBudget(app, budget);
  app.add_option("--profile", profile,
                 "profile.json of medley plan or of another run: what it holds is not measured again");
  AddPluginPath(app, plugin_path);
  if (!ParseArguments(app, argc, argv)) return 0;
  std::signal(SIGPIPE, SIG_IGN);  // a run outlives whoever reads its lines
  const StopSignal stop;
  if (!budget.empty()) overrides.push_back("budget=" + budget);

  const std::filesystem::path path = out.empty() ? DefaultRunPath(config) : std::filesystem::path(out);
  CheckOutDirectory(path);
  RunInputs inputs = CheckInputs(config, overrides, plugin_path);
  if (!profile.empty() && !inputs.checked.run.plan) {
    throw InputError("--profile " + profile +
                     ": nothing is planned, because \"plan\" is false. Leave one of them out");
  }
  RunDirectory::CheckFree(path);
  const std::string threads = ThreadsWarning(inputs.checked.run.threads, Cores());
  const auto run = BuildRun(std::move(inputs), Purpose::kTrain);
  Console early(stdout);  // nothing is left behind where a mistake shows only now
  if (!threads.empty()) early.Warn(threads);
  const std::string taken = InitializeFrom(run->config.init_from, *run->model, early);
  Training training(*run);
  try {
    training.Plan(profile, "", early);
  } catch (const Interrupted&) {  // not 130: that number promises a saved run
    throw Error("interrupted before the first step; nothing was trained and nothing is saved");
  }
  const RunDirectory directory = RunDirectory::Create(path);
  Console console(stdout, directory.path() / "log.txt");
  console.Say("the run lies in " + directory.path().string());
  for (const std::string& line : run->registry->Choices(run->NamedTasks())) console.Say(line);
  console.Say(run->budget.Words());
  if (!taken.empty()) console.Say(taken);
  training.SavePlan(directory, console);
  training.Record(directory);
  return static_cast<int>(training.MakeTrainer(directory, console)->Train());
}

}  // namespace medley
