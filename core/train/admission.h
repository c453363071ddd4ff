#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include <medley/curriculum/curriculum.h>
#include <medley/plan/plan_in_force.h>
#include <medley/plan/run_planner.h>
#include <medley/report/console.h>
#include <medley/run/run.h>

namespace medley {

// Where an earlier start of a run planned: its directory, and the file of the plan, "" for the last one.
struct EarlierPlan {
  std::filesystem::path directory = {}, plan = {};
};

// The file that keeps the plan of the start with this config, once a later start has another one. It need not
// be there.
std::filesystem::path KeptPlanOf(const std::filesystem::path& config);
// Before another plan.json is written into a run's directory: where it differs from the one that lies there,
// that one stays as KeptPlanOf the newest config. A FileError where it cannot be written.
void KeepPlan(const std::filesystem::path& directory, const std::string& next);

// Lets tasks, and forms of tasks, into a run: those that it names when it begins, and those that an edit of
// its weights brings. Each is planned where the config asks for that, the plan in force and the mixer are
// told, and the plan is written down.
//
// Where several processes train the run all call the same functions. Each plans for itself; a draw then has
// the fewest rows that any of them found, and what one throws (an interrupt too) all throw.
//
// On the trainer's thread, between steps, while no data thread samples. Order: PlanNamed, then SaveIn; for
// each later curriculum Learn, and Admit where that asks for it.
class Admission {
 public:
  // Keeps references. What it changes: the run's table of forms, what its mixer knows of their rows, and the
  // plan, which has what the config says of all named forms.
  Admission(const Run& run, FormTable& forms, Mixer& mixer, PlanInForce& plan, Console& console);

  // Measures and plans the named tasks; does nothing where the config says "plan": false. `profile`: one of
  // another run, or "". Throws what RunPlanner::UseProfile and PlanRun throw.
  void PlanNamed(const std::filesystem::path& profile, const EarlierPlan& earlier);
  // Saves the plan in the run's directory, as later ones, and says it in a line.
  void SaveIn(const std::filesystem::path& directory);
  // What plan.json is to hold; "" where nothing is planned.
  std::string PlanText() const { return planner_ ? planner_->PlanText() : ""; }

  // Adds the curriculum's forms to the run's table. True where some of them must be admitted too.
  bool Learn(const Curriculum& curriculum);
  // Loads and plans them alone. Throws what is wrong with one; then the run goes on without it. Those before
  // it stay loaded and planned, as the next Admit finds them.
  void Admit(const Curriculum& curriculum);

 private:
  void PlanTogether(const std::function<void()>& plan);

  const Run& run_;
  FormTable& forms_;
  Mixer& mixer_;
  PlanInForce& plan_;
  Console& console_;
  std::unique_ptr<RunPlanner> planner_;  // null where the config says "plan": false
  std::filesystem::path directory_;      // "": nothing is saved so far
  std::set<FormId> admitted_;
};

}  // namespace medley
