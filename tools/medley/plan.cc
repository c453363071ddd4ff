#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <medley/base/error.h>
#include <medley/config/threads.h>
#include <medley/plan/run_planner.h>
#include <medley/report/screen.h>
#include <medley/run/data_files.h>
#include <medley/run/run.h>
#include <medley/train/admission.h>

#include "tools/medley/arguments.h"
#include "tools/medley/verbs.h"

namespace medley {

namespace {

namespace fs = std::filesystem;

void Save(const RunPlanner& planner, const fs::path& out) {
  std::error_code error;
  fs::create_directories(out, error);
  if (error) throw InputError("cannot make the directory " + out.string() + ": " + error.message());
  planner.Save(out);
}

}  // namespace

int RunPlan(int argc, char** argv) {
  CLI::App app(
      "Measures what every task of a run takes, and says how each would be run: rows, mode, micro-batches, "
      "peak. Trains nothing.",
      "medley plan");
  std::string config, budget, out, profile;
  std::vector<std::string> overrides;
  NamedPlugins plugins;
  app.add_option("CONFIG", config, "the run config")->required();
  app.add_option("KEY=VALUE", overrides, "values that replace the config's, such as tasks.zoom.rows=auto");
  AddBudget(app, budget);
  app.add_option("--out", out, "a directory for profile.json and plan.json");
  app.add_option("--profile", profile,
                 "measured bytes of an earlier plan or run; only what it lacks is measured");
  AddPlugins(app, plugins);
  AddWide(app);
  if (!ParseArguments(app, argc, argv)) return 0;

  if (!out.empty()) CheckOutDirectory(out);  // before seconds of measuring
  if (!budget.empty()) overrides.push_back("budget=" + budget);
  overrides.emplace_back("plan=true");  // whatever training would do
  RunInputs inputs = CheckInputs(config, overrides, plugins);
  CheckDataFiles(inputs.checked.run, inputs.checked.curriculum, inputs.registry);
  Console console(stderr);
  const std::string threads = ThreadsWarning(inputs.checked.run.threads, Cores());
  if (!threads.empty()) console.Warn(threads);
  if (!inputs.checked.token_table.empty()) console.Say(inputs.checked.token_table);
  const auto run = BuildRun(std::move(inputs), Purpose::kTrain);
  for (const std::string& line : run->registry->Choices(run->NamedTasks())) console.Say(line);
  std::cout << run->budget.Words() << std::endl;
  RunPlanner::Setting setting = RunPlanner::SettingOf(*run);
  setting.all_ways = true;
  RunPlanner planner(*run, setting, console);
  if (!profile.empty()) planner.UseProfile(profile);
  planner.PlanRun(run->NamedForms());
  std::cout << Wrapped(planner.Words(), ScreenColumns()) << '\n';
  if (!out.empty()) Save(planner, out);
  return 0;
}

}  // namespace medley
