#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <medley/checkpoint/checkpoint.h>
#include <medley/checkpoint/run_directory.h>
#include <medley/run/run.h>
#include <medley/run/run_record.h>

#include "tools/medley/arguments.h"
#include "tools/medley/training.h"
#include "tools/medley/verbs.h"

namespace medley {
namespace {

void SayWhatChanged(Console& console, const RunConfig& before, const Run& run,
                    const nlohmann::ordered_json& old_record) {
  if (before.steps != run.config.steps) {
    console.Say("steps: " + std::to_string(before.steps) + " -> " + std::to_string(run.config.steps) +
                "; the learning rate is a function of them, from here on that of the new number");
  }
  for (const std::string& change : CompareRecord(
           old_record, RunRecord(run.config, run.device, *run.tokenizer, *run.registry), run.NamedTasks()))
    console.Say("changed: " + change);
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

}  // namespace

int RunResume(int argc, char** argv) {
  CLI::App app("Goes on with a run from its newest whole checkpoint.", "medley resume");
  std::filesystem::path path;
  std::int64_t steps = 0;
  app.add_option("DIR", path, "the run's directory")->required();
  app.add_option("--steps", steps, "steps in all, instead of the config's")->check(CLI::PositiveNumber);
  std::string budget;
  AddBudget(app, budget);
  if (!ParseArguments(app, argc, argv)) return 0;
  std::signal(SIGPIPE, SIG_IGN);  // a run outlives whoever reads its lines

  const RunDirectory directory = RunDirectory::Open(path);
  Console console(stdout, directory.path() / "log.txt");
  if (!directory.took_over().empty()) console.Say("took over the stale lock of " + directory.took_over());
  const std::filesystem::path config = NewestConfig(directory.path());
  std::vector<std::string> overrides;
  if (!budget.empty()) overrides.push_back("budget=" + budget);
  if (steps > 0) overrides.push_back("steps=" + std::to_string(steps));
  RunInputs inputs = CheckInputs(config, overrides);
  const auto found = FindCheckpoint(directory.path(), OnDamage::kSetAside, console);
  if (found && found->facts.step >= inputs.checked.run.steps) {
    console.Say("all " + std::to_string(found->facts.step) + " steps are done; to go on: medley resume " +
                path.string() + " --steps N (N in all)");
    return 0;
  }
  const RunConfig before = ReadRunConfig(config);
  const auto run = BuildRun(std::move(inputs), Purpose::kTrain);
  SayWhatChanged(console, before, *run, ReadRunRecord(directory.path()));
  for (const std::string& line : run->registry->Choices(run->NamedTasks())) console.Say(line);
  console.Say(run->budget.Words());
  if (!found) {
    const std::string taken = InitializeFrom(run->config.init_from, *run->model, console);
    if (!taken.empty()) console.Say(taken);
  }
  Training training(*run);
  training.Plan("", directory.path(), console);
  training.SavePlan(directory, console);
  const auto trainer = training.MakeTrainer(directory, console, found);
  if (found) SayWhatWasRestored(console, *run, *found);
  if (!found) console.Say("no checkpoint was saved so far; starting at step 0");
  training.Record(directory);
  return static_cast<int>(trainer->Train());
}

}  // namespace medley
