#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <medley/config/run_config.h>
#include <medley/curriculum/mixer.h>
#include <medley/plan/form_measurer.h>
#include <medley/plan/plan.h>
#include <medley/plan/plan_in_force.h>
#include <medley/plan/profile.h>
#include <medley/plan/rank_plan.h>
#include <medley/report/console.h>

namespace medley {

struct Run;

inline constexpr const char* kProfileFile = "profile.json";
inline constexpr const char* kPlanFile = "plan.json";
inline constexpr const char* kPlanTables = "plan.txt";  // the same for people

// Gives every task of a run its rows, mode and micro-batches: measures what the profile lacks, plans under
// the budget, and confirms. To be called between steps, on the trainer's thread, while no data thread
// samples. Order: UseProfile or TakeUp, PlanRun, Apply; and for each form that comes later PlanForm and
// Apply.
//
// Where several processes train the run, each plans its part of the draws for itself: see rank_plan.h. Rows
// that are open are chosen once: a start with another number of processes keeps them.
//
// What is measured is at most three sizes for every task and mode that is tried, and the planned size of
// every mode that is planned. Two plannings of one config, seed and budget give one plan.
class RunPlanner {
 public:
  struct Setting {
    std::int64_t budget = 0;       // bytes
    std::string budget_words;      // as it was asked for; "": what is free
    std::int64_t probe_bytes = 0;  // what probes may use above what is in use; 0: what the budget leaves
    std::int64_t probe_limit = 0;  // what CPU tensors may take in all meanwhile; 0: no limit
    std::int64_t machine = 0;      // bytes that the device has; 0: not known
    std::int64_t processes = 1;    // that train the run
    bool all_ways = false;         // measure every legal way to run a task; else those that the plan needs
  };
  // Keeps the references. `curriculum`: of the named forms.
  RunPlanner(const FormMeasurer::Parts& parts, const Curriculum& curriculum, Setting setting,
             Console& console);
  // The run's own budget; on the CPU probes may use all that is free.
  static Setting SettingOf(const Run& run);

  // Another run's profile. InputError, with what differs, where it was made with another model, tokenizer,
  // library or device, and then nothing of it is taken; tasks that differ are measured anew.
  void UseProfile(const std::filesystem::path& file);
  // What an earlier start of this run left in its directory; `plan`: the file of another plan than the last
  // one. What is stale is measured anew, and said; a file that cannot be used is a warning.
  void TakeUp(const std::filesystem::path& directory, std::filesystem::path plan = {});

  // Plans these forms, all that the run names; only those are measured that the profile lacks. A plan that
  // was taken up stays as long as nothing that it follows from has changed. Tasks whose first draw would have
  // no room for it are held against their spec here. Throws DoesNotFit. A task that
  // fails, in whatever way of running it, is an Error; under on_task_error "drop" a warning: it stays
  // unplanned, and the first of its draws that fails drops it. Interrupted passes. Where it throws the plan
  // is as it was, and what was measured stays known. The reference is that of plan().
  const Plan& PlanRun(const std::vector<Form>& forms);
  // A form that came later: measures and plans it alone. What the plan says of the others stays as it is.
  // Throws DoesNotFit, also where the others would no longer fit beside its tables, or the task's own Error;
  // then the plan is as it was, and what was measured stays known. One that was planned under other settings
  // takes its own place.
  const Plan& PlanForm(const Form& form);
  // All that was planned so far, to go back to where other processes of the run refuse what came after.
  struct Planned {
    Plan plan;
    std::vector<TaskRequest> requests;   // all that were asked for
    nlohmann::ordered_json planned_for;  // of the plan; null: there is none
    nlohmann::ordered_json planning;     // what making the plan took; null: nobody knows
    bool taken_up = true;                // the plan is an earlier start's
  };
  const Planned& planned() const { return now_; }
  void GoBackTo(Planned planned) { now_ = std::move(planned); }
  // Draws that all processes of the run agreed on, in the place of the plan's.
  void TakeDraws(const PlannedDraws& draws) { medley::TakeDraws(draws, now_.plan); }
  // The run then draws and executes by the plan. Drops tables where the plan does.
  void Apply(PlanInForce& in_force, Mixer& mixer);
  // After PlanRun: "plan: " with PlanInALine; of a plan that was taken up, that it is.
  std::string Line() const;
  // Tables of stages and tasks, as wide as that.
  std::string Tables(std::size_t columns = ScreenColumns()) const;
  // What the plan cost to make; "" of one that was taken up.
  std::string Cost() const;
  // What plan.json holds, and its text.
  nlohmann::ordered_json PlanJson() const;
  std::string PlanText() const;
  // What profile.json, plan.txt and plan.json hold, by name.
  std::map<std::string, std::string> Files() const;
  // Writes them, plan.json last, each whole and durable; a FileError where that fails.
  void Save(const std::filesystem::path& directory) const;

  const Profile& profile() const { return measurer_.profile(); }
  const Plan& plan() const { return now_.plan; }
  const Prober& prober() const { return measurer_.prober(); }

 private:
  const FormMeasurer::Parts& parts() const { return measurer_.parts(); }
  using Requests = FormMeasurer::Requests;

  TaskRequest RequestFor(const Form& form) const;
  PlanSetting SettingForPlan() const;
  nlohmann::ordered_json Asked() const;
  bool StillHolds() const;
  Requests WithKeptRows() const;
  Requests PartsOf(const Requests& asked) const;
  Plan Solve(const Requests& requests, bool beside_others);
  Plan PlanMeasured(const Requests& requests, bool beside_others);
  Plan PlanWhatCanBeMeasured(Requests requests);
  struct FailedForm {
    FormId form;
    std::string words;
  };
  template <typename Work>
  std::optional<FailedForm> FailsIn(const Work& work);
  TablesTogether TablesOfThePlanned() const;
  Profile BesideThePlanned(const Requests& requests) const;
  TaskRequest WithRowsThatMayWait(TaskRequest request) const;
  void Leave(const FormId& form);
  void Join(const Plan& added);

  const Curriculum& curriculum_;
  Setting setting_;
  Console& console_;
  FormMeasurer measurer_;
  Planned now_;
};

}  // namespace medley
