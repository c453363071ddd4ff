#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <medley/checkpoint/checkpoint.h>
#include <medley/checkpoint/run_directory.h>
#include <medley/curriculum/curriculum_edit.h>
#include <medley/plan/plan_in_force.h>
#include <medley/plan/run_planner.h>
#include <medley/report/console.h>
#include <medley/run/run.h>
#include <medley/train/resumed_weights.h>
#include <medley/train/trainer.h>
#include <medley/train/weight_edits.h>

namespace medley {

// A training run's, of whose parts it keeps references.
RunPlanner::Subject PlannerSubject(const Run& run);

// Where an earlier start of a run planned: its directory, and the file of the plan, "" for the last one.
struct EarlierPlan {
  std::filesystem::path directory = {}, plan = {};
};
// The file that keeps the plan of the start with this config, once a later start has another one.
std::filesystem::path PlanOf(const std::filesystem::path& config);
// Before another plan.json is written: where it differs from the one that lies there, that one stays as
// PlanOf the newest config.
void KeepPlan(const RunDirectory& directory, const std::string& next);

// What train and resume do with a run that was put together: plan it, write that down, make its loop. Keeps
// the plan in force, and the planner for tasks that come later.
class Training final : public TaskAdmission {
 public:
  // Keeps the reference.
  explicit Training(Run& run);

  // Measures and plans the named tasks where the config asks for it. `profile`: one of another run, or "".
  // Throws DoesNotFit.
  void Plan(const std::filesystem::path& profile, const EarlierPlan& earlier, Console& console);
  // Of a resume, before SavePlan.
  void KeepEarlierPlan(const RunDirectory& directory) const;
  // Says the plan, and saves it in the directory.
  void SavePlan(const RunDirectory& directory, Console& console) const;
  // run.json and the resolved config, of a start that goes on after so many steps; `unevaluated`: before the
  // last of them is evaluated.
  void Record(const RunDirectory& directory, std::int64_t step, bool unevaluated) const;
  // A new run's own weights file, and the log of its changes.
  void BeginWeights(const RunDirectory& directory, Console& console);
  void GoOnWithWeights(const RunDirectory& directory, ResumedWeights weights, Console& console);
  std::unique_ptr<Trainer> MakeTrainer(const RunDirectory& directory, Console& console,
                                       const std::optional<FoundCheckpoint>& from = std::nullopt,
                                       const std::optional<RunScript>& script = std::nullopt);

  bool HasNew(const Curriculum& curriculum) const override;
  void Admit(const Curriculum& curriculum) override;

 private:
  Run& run_;
  std::filesystem::path directory_;
  std::optional<WeightLog> log_;
  std::optional<LiveWeights> live_;
  PlanInForce in_force_;
  std::set<std::string> admitted_;  // forms
  std::optional<RunPlanner> planner_;
};

}  // namespace medley
