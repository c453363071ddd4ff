#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <medley/curriculum/form_table.h>
#include <medley/curriculum/mixer.h>
#include <medley/memory/guard.h>
#include <medley/plan/plan.h>
#include <medley/step/execution.h>

namespace medley {

// How every task's draws run just now, and what they are expected to take: in which form, what the config
// says of it, what was planned since, and the cuts after an overflow. Its one owner: nobody else keeps or
// changes any of it. To be used on the trainer's thread.
class PlanInForce {
 public:
  // `forms`: the run's, which outlives it. `configured`: of every form that the run may draw.
  PlanInForce(const FormTable& forms, std::map<FormId, Execution> configured)
      : forms_(forms), executions_(std::move(configured)) {}

  // In which the task's draws run: the config's own, until a stage's are taken. The id is one of any task,
  // also of one that the run names no more.
  FormId IdOf(const std::string& task) const;
  const Form& FormOf(const std::string& task) const { return forms_.At(IdOf(task)); }
  // From here on tasks run in the stage's forms. False where they did so already.
  bool TakeForms(const Stage& stage);

  // Needs the task's form to be known. The reference stays good while this lives, and shows what Adopt, Cut
  // and Fitted change.
  const Execution& Of(const std::string& task) const { return executions_.at(IdOf(task)); }
  const std::map<FormId, Execution>& executions() const { return executions_; }

  bool Knows(const FormId& form) const { return executions_.count(form) > 0; }
  // Adds a form that came later; one that is known stays as it is.
  void Add(const FormId& form, const Execution& configured) { executions_.emplace(form, configured); }
  // From here on the forms of the plan that are known run by it; others, and weights of terms, stay. A form
  // whose micro-rows are what they were stays cut. The profile is the one that the plan was made from.
  void Adopt(const Plan& plan, const Profile& profile, const PlanSetting& setting);
  // Rows of a draw by the plan; nothing where there is none of the task.
  std::optional<std::int64_t> RowsOf(const std::string& task) const;
  // Floating-point operations of a row, by the plan; nothing where nobody counted them.
  std::optional<std::int64_t> OperationsOf(const std::string& task) const;
  // What the guard may expect; nothing where nothing was planned.
  const std::optional<Guard::Expectation>& expected() const { return expected_; }
  // What a draw in `micro_rows` rows at once takes, by the plan where the task is not cut, else by the lines
  // that the plan was made from; zeros where there are none. Where tables are dropped, without those of other
  // tasks.
  PeakPrediction Predict(const std::string& task, std::int64_t micro_rows) const;

  // Bytes that other tasks' tables may take beside a draw of the task, 0 where that has no plan; nothing
  // where all may stay.
  std::optional<std::int64_t> RoomForOthersTables(const std::string& task) const;

  // Micro-rows of a task, before and after.
  struct Change {
    std::string task;
    std::int64_t from = 0, to = 0;
  };
  // A draw ran out of memory although it was planned to fit: halves its task's micro-rows. Its step runs
  // again: the same rows, divided by the same counts, charged to the mixer once. Nothing where already one
  // row is too much.
  std::optional<Change> Cut(const std::string& task, std::int64_t draw_rows);
  // A whole step fitted. A task that was cut doubles its micro-rows after 32 of its draws, at most to the
  // plan's; each time that this was too early, it waits twice as long before it tries again, up to 4096
  // draws.
  std::vector<Change> Fitted(const std::vector<Draw>& draws);
  // Does the task take fewer rows at once than its plan says?
  bool IsCut(const std::string& task) const;

  // The cuts.
  nlohmann::json Save() const;
  // After the tasks were planned: those that were cut are cut again, but where the plan has other micro-rows
  // now. Throws what JSON or counts throw; some cuts are then loaded and others not.
  void Load(const nlohmann::json& state);

 private:
  struct TaskCut {
    std::int64_t planned = 0;  // micro-rows; 0: all rows of a draw
    std::int64_t micro_rows = 0;
    std::int64_t fitted = 0;  // draws since the last change
    std::int64_t patience = 0;
    bool grew = false;  // the last change
  };
  struct Source {
    Plan plan;
    Profile profile;
    PlanSetting setting;
  };

  const PlannedTask* Planned(const std::string& task) const;
  std::int64_t RoomBeside(const PlannedTask& planned) const;
  void Expect();

  const FormTable& forms_;
  std::map<std::string, FormId> changed_;  // by task, that are not the config's own
  std::map<FormId, Execution> executions_;
  std::map<FormId, TaskCut> cuts_;
  std::optional<Source> source_;
  std::optional<Guard::Expectation> expected_;
};

}  // namespace medley
