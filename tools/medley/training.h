#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include <medley/checkpoint/checkpoint.h>
#include <medley/checkpoint/run_directory.h>
#include <medley/plan/plan_in_force.h>
#include <medley/plan/run_planner.h>
#include <medley/report/console.h>
#include <medley/run/run.h>
#include <medley/train/trainer.h>

namespace medley {

// A training run's, of whose parts it keeps references.
RunPlanner::Subject PlannerSubject(const Run& run);

// What train and resume do with a run that was put together: plan it, write that down, make its loop. Keeps
// the plan in force, and the planner for tasks that come later.
class Training {
 public:
  // Keeps the reference.
  explicit Training(Run& run);

  // Measures and plans the named tasks where the config asks for it. `profile`: one of another run, or "";
  // `earlier`: the directory of an earlier start of this run, or "". Throws DoesNotFit.
  void Plan(const std::filesystem::path& profile, const std::filesystem::path& earlier, Console& console);
  // Says the plan, and saves it in the directory.
  void SavePlan(const RunDirectory& directory, Console& console) const;
  // run.json and the resolved config.
  void Record(const RunDirectory& directory) const;
  std::unique_ptr<Trainer> MakeTrainer(const RunDirectory& directory, Console& console,
                                       const std::optional<FoundCheckpoint>& from = std::nullopt);

 private:
  Run& run_;
  PlanInForce in_force_;
  std::optional<RunPlanner> planner_;
};

}  // namespace medley
