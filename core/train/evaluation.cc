#include <medley/train/evaluation.h>

#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <utility>

#include <medley/base/interrupt.h>
#include <medley/base/json_count.h>
#include <medley/base/work_progress.h>
#include <medley/config/run_config.h>
#include <medley/eval/evaluator.h>
#include <medley/eval/row_items.h>
#include <medley/eval/score_report.h>
#include <medley/report/table.h>
#include <medley/step/abandon.h>

namespace medley {

using nlohmann::json;

bool Evaluation::IsDue(std::int64_t step) const {
  return setting_.config.every > 0 && step % setting_.config.every == 0;
}

TaskScore Evaluation::ScoreOf(const std::string& task, std::int64_t step,
                              const std::function<void(double share)>& progress) {
  setting_.tables.MakeAllRoom(task);
  LoadedTask& loaded = setting_.tasks.Checked(task);
  const std::int64_t rows = RowsOnce(loaded, setting_.config.rows);
  if (compared_.insert(task).second) {
    const std::string warning = OverlapWarning(loaded, setting_.seed, rows);
    if (!warning.empty()) setting_.console.Warn(warning);
  }
  std::int64_t& rows_at_once = rows_at_once_.try_emplace(task, kEvalRows).first->second;
  const LentWeights averaged = setting_.optimizer.ReadAverages();
  TaskScore score = ScoreTask(loaded, setting_.plan.Of(task),
                              {.model = setting_.model,
                               .device = setting_.device,
                               .seed = setting_.seed,
                               .rows = rows,
                               .rows_at_once = rows_at_once,
                               .progress = progress});
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

std::variant<EvaluationRecord, Failure> Evaluation::Run(std::int64_t step, const Wanted& wanted,
                                                        Blame& blame) {
  std::vector<std::string> tasks;
  if (wanted.whole) tasks = setting_.mixer.mixture().Active();
  for (const std::string& task : wanted.asked) {
    if (std::find(tasks.begin(), tasks.end(), task) == tasks.end()) tasks.push_back(task);
  }
  Scores scores;
  WorkProgress progress;
  double begun = 0;
  for (const std::string& task : tasks) {
    const auto tell = [&](double share) {
      progress.Say("evaluating " + task, begun + share, static_cast<double>(tasks.size()));
    };
    try {
      scores[task] = ScoreOf(task, step, tell);
    } catch (const c10::AcceleratorError&) {
      throw;  // the device, not the task
    } catch (const Interrupted&) {
      AbandonForward(setting_.device);
      throw;
    } catch (const std::exception& error) {
      const std::string where = "evaluation of " + task + " after step " + std::to_string(step) + ": ";
      if (const auto end = blame.TaskFailed(task, Failure::Of(error, where))) return *end;
    }
    ++begun;
  }
  EvaluationRecord record;
  std::string line = "step " + std::to_string(step) + " evaluated";
  for (const auto& [task, score] : scores) {
    record.tasks[task] = score;
    WarnOfNoNumber(task, score, step);
    if (setting_.with_sheets) AddSheet(task, score, record);
  }
  if (wanted.whole) {
    const double mean = Compare(scores, wanted.stage);
    line += scores.empty() ? ": no task is left" : ", mean loss " + FormatNumber(mean);
  }
  setting_.console.Say(line + (scores.empty() ? "" : "\n" + LiveScoresTable(record.tasks)));
  return record;
}

void Evaluation::WarnOfNoNumber(const std::string& task, const TaskScore& score, std::int64_t step) {
  if (!std::isfinite(score.loss))
    setting_.console.Warn("step " + std::to_string(step) + ": the held-out loss of " + task +
                          " is not finite; the evaluation counts for no best checkpoint");
  if (std::isnan(score.score.value))
    setting_.console.Warn("evaluation after step " + std::to_string(step) + ": " + NoScoreWords(task, score));
}

// The mean loss of the active tasks, by which checkpoints compare.
double Evaluation::Compare(Scores scores, const std::string& stage) {
  const std::vector<std::string> active = setting_.mixer.mixture().Active();
  std::erase_if(scores, [&](const auto& score) {
    return std::find(active.begin(), active.end(), score.first) == active.end();
  });
  MeanEvaluation mean{.loss = MeanLoss(scores), .tasks = {}, .stage = stage};
  for (const auto& [task, score] : scores) mean.tasks.push_back(task);
  evaluated_.reset();
  if (std::isfinite(mean.loss)) evaluated_ = mean;
  return mean.loss;
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
