#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include <medley/base/error.h>
#include <medley/base/json_text.h>
#include <medley/config/threads.h>
#include <medley/plan/plan_refusal.h>
#include <medley/plan/plan_stages.h>
#include <medley/plan/run_planner.h>
#include <medley/report/screen.h>
#include <medley/run/data_files.h>
#include <medley/run/run.h>
#include <medley/run/run_references.h>
#include <medley/train/admission.h>

#include "tools/medley/arguments.h"
#include "tools/medley/output.h"
#include "tools/medley/verbs.h"

namespace medley {

namespace {

using nlohmann::ordered_json;

struct PlanOutput {
  OutputKind kind;
  const char* name;
};
constexpr std::array kPlanOutputs = {PlanOutput{OutputKind::kProfile, kProfileFile},
                                     PlanOutput{OutputKind::kPlanTables, kPlanTables},
                                     PlanOutput{OutputKind::kPlan, kPlanFile}};

void Save(const RunPlanner& planner, const OutputFolderOption& out) {
  const auto texts = planner.Files();
  for (const auto& [kind, name] : kPlanOutputs) out.Write(kind, name, texts.at(name));
}

ordered_json PlanJson(const RunPlanner& planner, const Run& run) {
  ordered_json json = planner.PlanJson();
  json.erase("asked");  // for whoever takes the plan up again
  json["stages"] = ToJson(PlannedStages(run.forms, run.curriculum, planner.plan()));
  return json;
}

// Before seconds of measuring.
void CheckOutputs(const OutputFolderOption& out) {
  out.Check();
  for (const auto& [kind, name] : kPlanOutputs) out.Check(kind, name);
}

struct PlanArguments {
  std::string config, budget, profile;
  OutputFolderOption out;
  std::vector<std::string> overrides;
  NamedPlugins plugins;
  bool as_json = false;
};

void PlanRun(const PlanArguments& arguments) {
  std::vector<std::string> overrides = arguments.overrides;
  if (!arguments.budget.empty()) overrides.push_back("budget=" + arguments.budget);
  overrides.emplace_back("plan=true");  // whatever training would do
  RunInputs inputs = CheckInputs(arguments.config, overrides, arguments.plugins);
  CheckDataFiles(inputs.checked.run, inputs.checked.curriculum, inputs.registry);
  Console console(stderr);
  const std::string threads = ThreadsWarning(inputs.checked.run.threads, Cores());
  if (!threads.empty()) console.Warn(threads);
  if (!inputs.checked.token_table.empty()) console.Say(inputs.checked.token_table);
  const auto run = BuildRun(std::move(inputs), Purpose::kTrain);
  for (const std::string& line : run->registry->Choices(run->NamedTasks())) console.Say(line);
  for (const std::string& words : BeginReferences(*run, console)) console.Say(words);
  (arguments.as_json ? std::cerr : std::cout) << run->budget.Words() << std::endl;
  RunPlanner::Setting setting = RunPlanner::SettingOf(*run);
  setting.all_ways = true;
  RunPlanner planner(FormMeasurer::PartsOf(*run), run->curriculum, setting, console);
  if (!arguments.profile.empty()) planner.UseProfile(arguments.profile);
  planner.PlanRun(run->NamedForms());
  if (arguments.as_json)
    std::cout << JsonText(PlanJson(planner, *run), 2) << '\n';
  else
    std::cout << Prose(planner.Line() + "\n\n" + planner.Tables() + planner.Cost()) << '\n';
  if (arguments.out.is_named()) Save(planner, arguments.out);
}

}  // namespace

int RunPlan(int argc, char** argv) {
  CLI::App app(
      "Measures what every task of a run takes, and says how each would be run: rows, mode, micro-batches, "
      "peak. Trains nothing.",
      "medley plan");
  PlanArguments arguments;
  app.add_option("CONFIG", arguments.config, "the run config")->required();
  app.add_option("KEY=VALUE", arguments.overrides,
                 "values that replace the config's, such as tasks.zoom.rows=auto");
  AddBudget(app, arguments.budget);
  arguments.out.AddTo(app, "--out", "a directory for profile.json and plan.json");
  app.add_option("--profile", arguments.profile,
                 "measured bytes of an earlier plan or run; only what it lacks is measured");
  AddWide(app);
  AddJson(app, arguments.as_json);
  AddPlugins(app, arguments.plugins);
  if (!ParseArguments(app, argc, argv)) return 0;
  if (arguments.out.is_named()) CheckOutputs(arguments.out);
  try {
    PlanRun(arguments);
  } catch (const Error& refusal) {
    const ordered_json json = {{"refusals", RefusalsJson(refusal)}};
    if (arguments.as_json && refusal.code() == ExitCode::kDoesNotFit)  // which is an answer too
      std::cout << JsonText(json, 2) << '\n';
    throw;
  }
  return 0;
}

}  // namespace medley
