#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <medley/base/work_progress.h>
#include <medley/config/run_config.h>
#include <medley/contract/contract_check.h>
#include <medley/curriculum/form_table.h>
#include <medley/model/model.h>
#include <medley/plan/plan.h>
#include <medley/plan/prober.h>
#include <medley/plan/profile.h>
#include <medley/plugin/task_host.h>
#include <medley/report/console.h>
#include <medley/step/step_executor.h>
#include <medley/update/optimizer.h>

namespace medley {

struct Run;

// Measures what steps of a run's forms take, as far as its profile does not say it, and loads the tasks for
// that. Says on the console when it begins. To be called between steps, on the trainer's thread.
class FormMeasurer {
 public:
  using Requests = std::vector<TaskRequest>;

  // What of a run that trains it measures with. References outlive it.
  struct Parts {
    const RunConfig& config;
    at::Device device;
    const Model& model;
    const Optimizer& optimizer;
    const References* references;  // null: each is the model itself
    TaskHost& host;
    const FormTable& forms;
    ContractCheck& contract;
    StepExecutor& executor;
    nlohmann::ordered_json key;  // the run's: see RunProfileKey
  };
  static Parts PartsOf(const Run& run);
  // `probe_bytes`, `probe_limit`: see RunPlanner::Setting; `all_ways`: every legal way to run a task, else
  // those that the plan needs.
  FormMeasurer(Parts parts, std::int64_t probe_bytes, std::int64_t probe_limit, bool all_ways,
               Console& console);

  const Parts& parts() const { return parts_; }
  const Profile& profile() const { return profile_; }
  // What an earlier planning measured, under this run's key.
  void Use(Profile profile) { profile_ = std::move(profile); }
  const Prober& prober() const { return prober_; }
  // Frees the rows that were measured with; whoever measures next samples them anew.
  void ForgetRows() { prober_.ForgetRows(); }

  // The ways of the forms that no plan can do without. Tells on stderr how far it is, as those below do. As
  // the functions below it throws what the task throws; then TakeFailed() tells whose fault it was, and of
  // that form nothing is known.
  void MeasureFirst(const Requests& requests);
  // What is there between steps: weights, optimizer, what else is in use beside the tasks' tables.
  void MeasureFloor();
  // Ways that nobody asked for may be what fits, or what a refusal should name. Where not even the floor
  // fits, it names no task, and the budget to name is one for all of them. True where something was measured.
  bool MeasureRefused(const DoesNotFit& refusal, const Requests& requests);
  // What the plan lacks of tasks that came to the usual rows: other ways to come there may be less work. True
  // where something was measured.
  bool MeasureBelow(const Plan& plan, const Requests& requests);
  // Runs a step of the planned size where that was not measured. False where nothing was to be done.
  //
  // Once a task and mode: what such a step takes above its line becomes a probe, and the rows that fit then
  // lie below it, where the chord is safe.
  bool Confirm(const Plan& plan);
  // Holds those of the planned forms against their spec whose first draw will have no room for that: the
  // check runs all passes at once. Warns where there is no room now either. Drops tables where the plan does.
  void CheckTight(const Plan& plan, const Requests& requests, std::int64_t budget);

  // The form that threw since it was last asked.
  std::optional<FormId> TakeFailed() { return std::exchange(failed_, std::nullopt); }

 private:
  class Told;

  LoadedTask& Loaded(const Form& form, TaskProfile& profile);
  template <typename Measure>
  auto Blaming(const FormId& form, const Measure& measure);
  std::vector<Way> FirstWays(const TaskRequest& request) const;
  std::vector<Way> WaysBelow(const PlannedTask& entry, const TaskRequest& request) const;
  bool MeasureTask(const TaskRequest& request, const std::vector<Way>& ways);
  bool MeasureLacking(const TaskRequest& request, const std::vector<Way>& ways);
  void CheckContract(LoadedTask& task, TaskProfile* profile);
  std::int64_t LargestProbe(const PlannedTask& entry) const;

  Parts parts_;
  bool all_ways_;
  Console& console_;
  Prober prober_;
  WorkProgress* progress_ = nullptr;  // while it tells
  Profile profile_;
  std::optional<FormId> failed_;
  std::set<FormId> measured_;                   // by this object
  std::set<std::pair<FormId, Way>> confirmed_;  // by a step of the planned size
};

}  // namespace medley
