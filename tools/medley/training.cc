#include "tools/medley/training.h"

#include <medley/run/run_record.h>

namespace medley {
namespace {

std::map<std::string, Execution> Configured(const Run& run) {
  std::map<std::string, Execution> executions;
  for (const std::string& task : run.NamedTasks()) executions[task] = run.Configured(task);
  return executions;
}

}  // namespace

RunPlanner::Subject PlannerSubject(const Run& run) {
  return {.config = run.config,
          .device = run.device,
          .host = *run.host,
          .model = *run.model,
          .optimizer = *run.optimizer,
          .executor = *run.executor,
          .tokenizer = run.tokenizer.get()};
}

Training::Training(Run& run) : run_(run), in_force_(Configured(run)) {}

void Training::Plan(const std::filesystem::path& profile, const std::filesystem::path& earlier,
                    Console& console) {
  if (!run_.config.plan) return;
  planner_.emplace(PlannerSubject(run_), RunPlanner::SettingOf(run_.config, run_.budget, run_.device),
                   console);
  if (!profile.empty()) planner_->UseProfile(profile);
  if (!earlier.empty()) planner_->TakeUp(earlier);
  planner_->PlanRun(run_.NamedTasks());
  planner_->Apply(in_force_, *run_.mixer);
}

void Training::SavePlan(const RunDirectory& directory, Console& console) const {
  if (!planner_) return;
  console.Say(planner_->Words());
  planner_->Save(directory.path());
}

void Training::Record(const RunDirectory& directory) const {
  directory.WriteRecord(RunRecord(run_.config, run_.device, *run_.tokenizer, *run_.registry));
  directory.WriteConfig(ToJson(run_.config));
}

std::unique_ptr<Trainer> Training::MakeTrainer(const RunDirectory& directory, Console& console,
                                               const std::optional<FoundCheckpoint>& from) {
  return std::make_unique<Trainer>(Trainer::Setting{.config = run_.config,
                                                    .device = run_.device,
                                                    .budget = run_.budget,
                                                    .directory = directory.path(),
                                                    .host = *run_.host,
                                                    .model = *run_.model,
                                                    .mixer = *run_.mixer,
                                                    .executor = *run_.executor,
                                                    .optimizer = *run_.optimizer,
                                                    .plan = in_force_,
                                                    .console = console},
                                   from);
}

}  // namespace medley
