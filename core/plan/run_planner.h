#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <medley/config/run_config.h>
#include <medley/curriculum/form_table.h>
#include <medley/curriculum/mixer.h>
#include <medley/memory/budget.h>
#include <medley/plan/plan.h>
#include <medley/plan/plan_in_force.h>
#include <medley/plan/plan_request.h>
#include <medley/plan/prober.h>
#include <medley/plan/profile.h>
#include <medley/plugin/task_host.h>
#include <medley/report/console.h>
#include <medley/step/optimizer.h>
#include <medley/step/step_executor.h>
#include <medley/text/tokenizer.h>

namespace medley {

inline constexpr const char* kProfileFile = "profile.json";
inline constexpr const char* kPlanFile = "plan.json";

// Gives every task of a run its rows, mode and micro-batches: measures what the profile lacks, plans under
// the budget, and confirms. To be called between steps.
//
// What is measured is at most three sizes for every task and mode that is tried, and the planned size of
// every mode that is planned. Two plannings of one config, seed and budget give one plan.
class RunPlanner {
 public:
  // What is measured, and with what; references outlive the planner.
  struct Subject {
    const RunConfig& config;
    const FormTable& forms;  // those that are planned are in it
    at::Device device;
    TaskHost& host;
    const Model& model;
    const AdamW& optimizer;
    StepExecutor& executor;
    // For the profile's key:
    std::string model_build{};  // see RunProfileKey
    const Tokenizer* tokenizer = nullptr;
  };
  struct Setting {
    std::int64_t budget = 0;       // bytes
    std::string budget_words;      // as it was asked for; "": what is free
    std::int64_t probe_bytes = 0;  // what probes may use above what is in use; 0: what the budget leaves
    std::int64_t probe_limit = 0;  // what CPU tensors may take in all meanwhile; 0: no limit
    std::int64_t machine = 0;      // bytes that the device has; 0: not known
    bool all_ways = false;         // measure every legal way to run a task; else those that the plan needs
  };
  RunPlanner(const Subject& subject, Setting setting, Console& console);
  // The run's own budget; on the CPU probes may use all that is free.
  static Setting SettingOf(const RunConfig& config, const Budget& budget, at::Device device);

  // Another run's profile. InputError, with what differs, where it was made with another model, tokenizer,
  // library or device; tasks that differ are measured anew.
  void UseProfile(const std::filesystem::path& file);
  // What an earlier start of this run left in its directory; `plan`: the file of another plan than the last
  // one. What is stale is measured anew, and said.
  void TakeUp(const std::filesystem::path& directory, std::filesystem::path plan = {});

  // Plans these forms, all that the run names; only those are measured that the profile lacks. A plan that
  // was taken up stays as long as nothing that it follows from has changed. Throws DoesNotFit. A task that
  // fails, in whatever way of running it, is an Error; under on_task_error "drop" a warning: it stays
  // unplanned, and the first of its draws that fails drops it.
  const Plan& PlanRun(const std::vector<Form>& forms);
  // A form that came later: measures and plans it alone. What the plan says of the others stays as it is.
  // Throws DoesNotFit, also where the others would no longer fit beside its tables, or the task's own Error;
  // then the plan is as it was, and what was measured stays known.
  const Plan& PlanForm(const Form& form);
  // The run then draws and executes by the plan.
  void Apply(PlanInForce& in_force, Mixer& mixer);
  // A table of the plan, and what it cost to make.
  std::string Words() const;
  // What plan.json holds.
  std::string PlanText() const;
  // profile.json and plan.json.
  void Save(const std::filesystem::path& directory) const;

  const Profile& profile() const { return profile_; }
  const Plan& plan() const { return plan_; }
  const Prober& prober() const { return prober_; }

 private:
  using Requests = std::vector<TaskRequest>;

  TaskRequest RequestFor(const Form& form) const;
  PlanSetting SettingForPlan() const;
  static Execution ExecutionIn(const Way& way, const Form& form);
  nlohmann::ordered_json Asked() const;
  bool StillHolds() const;
  LoadedTask& Loaded(const Form& form, TaskProfile& profile);
  bool MeasureTask(const TaskRequest& request, const std::vector<Way>& ways);
  bool MeasureLacking(const TaskRequest& request, const std::vector<Way>& ways);
  void MeasureFirst(const TaskRequest& request);
  void MeasureFloor();
  void CheckContract(LoadedTask& task, TaskProfile* profile);
  Plan Solve(const Requests& requests, bool beside_others);
  bool MeasureRefused(const DoesNotFit& refusal, const Requests& requests);
  bool MeasurePieces(const Plan& plan, const Requests& requests);
  std::int64_t LargestProbe(const PlannedTask& entry) const;
  bool Confirm(const Plan& plan);
  template <typename Measure>
  auto Blaming(const FormId& form, const Measure& measure);
  Plan PlanMeasured(const Requests& requests, bool beside_others);
  Plan PlanWhatCanBeMeasured(Requests requests);
  Profile BesideThePlanned() const;
  TaskRequest WithRowsThatMayWait(TaskRequest request) const;
  void Join(const Plan& added);

  Subject subject_;
  Setting setting_;
  Console& console_;
  Prober prober_;
  Profile profile_;
  Plan plan_;
  Requests requests_;                           // all that were asked for
  std::optional<FormId> failed_;                // that threw while it was measured
  std::set<FormId> measured_;                   // by this object
  std::set<std::pair<FormId, Way>> confirmed_;  // by a step of the planned size
  nlohmann::ordered_json planned_for_;          // of the plan; null: there is none
  nlohmann::ordered_json planning_;             // what making the plan took; null: nobody knows
  bool taken_up_ = true;                        // the plan is an earlier start's
};

}  // namespace medley
