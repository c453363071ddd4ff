#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <medley/train/run.h>
#include <medley/train/run_planner.h>

#include "tools/medley/arguments.h"
#include "tools/medley/verbs.h"

namespace medley {

int RunPlan(int argc, char** argv) {
  CLI::App app(
      "Measures what every task of a run takes, and says how each would be run: rows, mode, micro-batches, "
      "peak. "
      "Trains nothing.",
      "medley plan");
  std::string config, budget, out, profile;
  std::vector<std::string> overrides;
  std::vector<std::filesystem::path> plugin_path;
  app.add_option("CONFIG", config, "the run config")->required();
  app.add_option("KEY=VALUE", overrides, "values that replace the config's, such as tasks.zoom.rows=auto");
  AddBudget(app, budget);
  app.add_option("--out", out, "a directory for profile.json and plan.json");
  app.add_option("--profile", profile,
                 "measured bytes of an earlier plan or run; only what it lacks is measured");
  AddPluginPath(app, plugin_path);
  if (!ParseArguments(app, argc, argv)) return 0;

  if (!budget.empty()) overrides.push_back("budget=" + budget);
  const auto run = BuildRun(CheckInputs(config, overrides, plugin_path), Purpose::kTrain);
  Console console(stderr);
  RunPlanner::Setting setting = RunPlanner::SettingOf(*run);
  setting.all_ways = true;
  RunPlanner planner(*run, setting, console);
  if (!profile.empty()) planner.UseProfile(profile);
  planner.PlanRun();
  std::cout << planner.Words() << '\n';
  if (out.empty()) return 0;
  std::filesystem::create_directories(out);
  planner.Save(out);
  return 0;
}

}  // namespace medley
