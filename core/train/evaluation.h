#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <variant>

#include <medley/checkpoint/checkpoint_facts.h>
#include <medley/config/run_config.h>
#include <medley/curriculum/mixer.h>
#include <medley/data/data_rules.h>
#include <medley/eval/score.h>
#include <medley/model/model.h>
#include <medley/plan/plan_in_force.h>
#include <medley/report/console.h>
#include <medley/report/records.h>
#include <medley/train/blame.h>
#include <medley/train/prefetcher.h>
#include <medley/train/rounds.h>
#include <medley/train/table_room.h>
#include <medley/train/task_evaluation.h>
#include <medley/train/work_division.h>
#include <medley/update/optimizer.h>

namespace medley {

// A run's own evaluations: when they are due, of its active tasks, and how the last one ended. Several
// processes divide the tasks among them, and each knows all of what came out. On the trainer's thread,
// between steps, when no gradient lives.
class Evaluation {
 public:
  // References outlive it.
  struct Setting {
    EvalConfig config;
    std::uint64_t seed = 0;  // of the run; that of evaluated rows is the config's
    bool with_sheets = false;
    at::Device device;
    const Model& model;
    const Tokenizer* tokenizer;    // null: the run has none
    const References* references;  // null: each is the model itself
    const Optimizer& optimizer;    // whose average is scored, where it keeps one
    Prefetcher& tasks;             // which loads them
    const PlanInForce& plan;
    const Mixer& mixer;
    const DataRules& rules;
    TableRoom& tables;
    bool alone = true;  // one process trains the run
    const WorkDivision& division;
    Rounds& rounds;
    Console& console;
  };
  explicit Evaluation(const Setting& setting) : setting_(setting) {}

  bool IsDue(std::int64_t step) const;  // of all active tasks, after so many steps of the run
  struct Wanted {
    bool whole = true;               // of all active tasks; only such evaluations compare
    std::vector<std::string> asked;  // tasks besides
    std::string stage;               // that is present
  };
  // Scores tasks after a step. A task that fails is `blame`'s to judge: a Failure where the run must end for
  // it. Throws Interrupted; then evaluated() is as it was, but a task that was dropped by then stays dropped.
  // A device that fails (c10::AcceleratorError) passes. `blame` is not kept. Of several processes all call
  // it.
  std::variant<EvaluationRecord, Failure> Run(std::int64_t step, const Wanted& wanted, Blame& blame);

  // The scores of all active tasks on so many of these rows, 0: as an evaluation has; by each process for
  // itself, and kept nowhere. What a task throws passes, and so does Interrupted.
  std::map<std::string, ScoreRecord> Look(std::int64_t rows);

  // The last one of all active tasks; nothing where its loss was not finite, or it was forgotten.
  const std::optional<MeanEvaluation>& evaluated() const { return evaluated_; }
  // Another stage begins.
  void Forget() { evaluated_.reset(); }
  // Whether the model was scored before the first step.
  bool was_at_start() const { return was_at_start_; }
  void SetWasAtStart() { was_at_start_ = true; }
  // Rows at once that fitted, by task.
  const std::map<std::string, std::int64_t>& rows_at_once() const { return rows_at_once_; }

  // Its keys of the progress section. Loading throws what counts and JSON throw; it is then half loaded.
  void Save(nlohmann::json& progress) const;
  void Load(const nlohmann::json& progress);

 private:
  using Progress = std::function<void(double share)>;
  TaskEvaluation Evaluate(const std::string& task, std::int64_t step, const Progress& progress);
  void Score(TaskEvaluation& evaluation, std::int64_t step, const Progress& progress);
  TaskScore ScoreOn(std::int64_t rows, const std::string& task, const Progress& progress);
  std::int64_t RowsAtOnce(const std::string& task) const;
  std::optional<Failure> Take(TaskEvaluation evaluation, std::int64_t step, Blame& blame,
                              EvaluationRecord& record);
  void WarnOfNoNumber(const std::string& task, const ScoreRecord& score, std::int64_t step);
  double Compare(std::map<std::string, ScoreRecord> scores, const std::string& stage);

  Setting setting_;
  std::optional<MeanEvaluation> evaluated_;
  bool was_at_start_ = false;
  std::map<std::string, std::int64_t> rows_at_once_;
  std::set<std::string> compared_;  // tasks whose held-out rows were looked for among training's
};

}  // namespace medley
