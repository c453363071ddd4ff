#include <medley/train/evaluation.h>

#include <c10/util/Exception.h>

#include <cmath>
#include <exception>
#include <utility>

#include <medley/base/interrupt.h>
#include <medley/base/json_count.h>
#include <medley/eval/evaluator.h>
#include <medley/eval/score_report.h>
#include <medley/report/table.h>
#include <medley/step/abandon.h>

namespace medley {

using nlohmann::json;

bool Evaluation::IsDue(std::int64_t step) const {
  return setting_.config.every > 0 && step % setting_.config.every == 0;
}

TaskScore Evaluation::ScoreOf(const std::string& task, std::int64_t step) {
  setting_.tables.MakeAllRoom(task);
  std::int64_t& rows_at_once = rows_at_once_.try_emplace(task, kEvalRows).first->second;
  TaskScore score = ScoreTask(setting_.tasks.Checked(task), setting_.plan.Of(task),
                              {.model = setting_.model,
                               .device = setting_.device,
                               .seed = setting_.seed,
                               .rows = setting_.config.rows,
                               .rows_at_once = rows_at_once});
  if (score.rows_at_once < rows_at_once) {
    rows_at_once = score.rows_at_once;
    setting_.console.Warn("evaluation of " + task + " after step " + std::to_string(step) +
                          " ran out of memory; from now on it takes " + std::to_string(rows_at_once) +
                          " rows at once");
  }
  return score;
}

// For people alone: a picture that cannot be shown must not end a run.
void Evaluation::AddSheet(const std::string& task, const TaskScore& score, EvaluationRecord& record) {
  try {
    if (auto sheet = SheetOf(score)) record.sheets[task] = std::move(*sheet);
  } catch (const std::exception& error) {
    setting_.console.Warn("no sheet of " + task + ": " + error.what());
  }
}

std::optional<EvaluationRecord> Evaluation::Run(std::int64_t step, StepRecovery& recovery) {
  Scores scores;
  for (const std::string& task : setting_.mixer.mixture().Active()) {
    try {
      scores[task] = ScoreOf(task, step);
    } catch (const c10::AcceleratorError&) {
      throw;  // the device, not the task
    } catch (const Interrupted&) {
      AbandonForward(setting_.device);
      throw;
    } catch (const std::exception& error) {
      recovery.TaskFailed(
          task, Failure::Of(error, "evaluation of " + task + " after step " + std::to_string(step) + ": "));
      if (recovery.failure()) return std::nullopt;
    }
  }
  MeanEvaluation mean{.loss = MeanLoss(scores), .tasks = {}};
  EvaluationRecord record;
  std::string line = "step " + std::to_string(step) + " evaluated:";
  for (const auto& [task, score] : scores) {
    mean.tasks.push_back(task);
    if (!std::isfinite(score.loss))
      setting_.console.Warn("step " + std::to_string(step) + ": the held-out loss of " + task +
                            " is not finite; the evaluation counts for no best checkpoint");
    record.tasks[task] = score;
    if (std::isnan(score.score.value))
      setting_.console.Warn("evaluation after step " + std::to_string(step) + ": " +
                            NoScoreWords(task, score));
    if (setting_.with_sheets) AddSheet(task, score, record);
    line += "  " + task + " " + FormatNumber(score.score.value);
  }
  setting_.console.Say(line + "  mean loss " + FormatNumber(mean.loss));
  evaluated_.reset();
  if (std::isfinite(mean.loss)) evaluated_ = std::move(mean);
  return record;
}

void Evaluation::Save(json& progress) const {
  progress["eval_rows_at_once"] = rows_at_once_;
  progress["evaluated"] = ToJson(evaluated_);
}

void Evaluation::Load(const json& progress) {
  rows_at_once_.clear();
  const json rows_at_once = progress.value("eval_rows_at_once", json::object());
  for (const auto& [task, rows] : rows_at_once.items())
    rows_at_once_[task] = CheckedCount(rows, "eval_rows_at_once of " + task, 1, kEvalRows);
  evaluated_ = ReadMeanEvaluation(progress.value("evaluated", json()));
}

}  // namespace medley
