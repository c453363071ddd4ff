#include <medley/train/evaluation.h>

#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <utility>

#include <medley/base/file_digest.h>
#include <medley/base/interrupt.h>
#include <medley/base/json_count.h>
#include <medley/base/work_progress.h>
#include <medley/eval/evaluator.h>
#include <medley/eval/row_items.h>
#include <medley/eval/score_report.h>
#include <medley/report/table.h>
#include <medley/step/abandon.h>

namespace medley {
namespace {

std::uint64_t EvalSeedOf(const EvalConfig& config) { return static_cast<std::uint64_t>(config.seed); }

}  // namespace

using nlohmann::json;

bool Evaluation::IsDue(std::int64_t step) const {
  return setting_.config.every > 0 && step % setting_.config.every == 0;
}

std::int64_t Evaluation::RowsAtOnce(const std::string& task) const {
  const auto known = rows_at_once_.find(task);
  return known == rows_at_once_.end() ? kEvalRows : known->second;
}

TaskScore Evaluation::ScoreOn(std::int64_t rows, const std::string& task, const Progress& progress) {
  LoadedTask& loaded = setting_.tasks.Checked(task);
  const LentWeights averaged = setting_.optimizer.ReadAverages();
  return ScoreTask(loaded, setting_.plan.Of(task),
                   {.model = setting_.model,
                    .device = setting_.device,
                    .seed = EvalSeedOf(setting_.config),
                    .rows = RowsOnce(loaded, rows),
                    .rows_at_once = RowsAtOnce(task),
                    .progress = progress,
                    .tokenizer = setting_.tokenizer,
                    .references = setting_.references});
}

std::map<std::string, ScoreRecord> Evaluation::Look(std::int64_t rows) {
  std::map<std::string, ScoreRecord> scores;
  try {
    for (const std::string& task : setting_.mixer.mixture().Active()) {
      setting_.tables.MakeAllRoom(task);
      scores[task] = ScoreOn(rows > 0 ? rows : setting_.config.rows, task, {});
    }
  } catch (const c10::AcceleratorError&) {
    throw;
  } catch (const std::exception&) {
    AbandonForward(setting_.device);
    throw;
  }
  return scores;
}

void Evaluation::Score(TaskEvaluation& evaluation, std::int64_t step, const Progress& progress) {
  const std::string& task = evaluation.task;
  setting_.tables.MakeAllRoom(task);
  LoadedTask& loaded = setting_.tasks.Checked(task);
  if (compared_.insert(task).second) {
    const std::int64_t rows = RowsOnce(loaded, setting_.config.rows);
    const std::string warning =
        OverlapWarning(loaded, {.training = setting_.seed, .evaluation = EvalSeedOf(setting_.config)}, rows);
    if (!warning.empty()) evaluation.warnings.push_back(warning);
  }
  const std::int64_t rows_at_once = RowsAtOnce(task);
  const TaskScore score = ScoreOn(setting_.config.rows, task, progress);
  if (score.rows_at_once < rows_at_once)
    evaluation.warnings.push_back("evaluation of " + task + " after step " + std::to_string(step) +
                                  " ran out of memory; from now on it takes " +
                                  std::to_string(score.rows_at_once) + " rows at once");
  evaluation.rows_at_once = score.rows_at_once;
  evaluation.score = score;
  if (!setting_.with_sheets) return;
  try {
    evaluation.sheet = SheetOf(score);
  } catch (const std::exception& error) {  // for people alone: it must not end a run
    evaluation.warnings.push_back("no sheet of " + task + ": " + error.what());
  }
}

TaskEvaluation Evaluation::Evaluate(const std::string& task, std::int64_t step, const Progress& progress) {
  TaskEvaluation evaluation{
      .task = task, .failure = std::nullopt, .score = {}, .sheet = std::nullopt, .warnings = {}};
  try {
    Score(evaluation, step, progress);
  } catch (const c10::AcceleratorError&) {
    throw;  // the device, not the task
  } catch (const Interrupted&) {
    AbandonForward(setting_.device);
    throw;
  } catch (const std::exception& error) {
    evaluation.failure =
        Failure::Of(error, "evaluation of " + task + " after step " + std::to_string(step) + ": ");
  }
  return evaluation;
}

// A Failure: the run must end.
std::optional<Failure> Evaluation::Take(TaskEvaluation evaluation, std::int64_t step, Blame& blame,
                                        EvaluationRecord& record) {
  for (const std::string& warning : evaluation.warnings) setting_.console.Warn(warning);
  if (evaluation.failure) return blame.TaskFailed(evaluation.task, *evaluation.failure);
  WarnOfNoNumber(evaluation.task, evaluation.score, step);
  rows_at_once_[evaluation.task] = evaluation.rows_at_once;
  record.tasks[evaluation.task] = std::move(evaluation.score);
  if (evaluation.sheet) record.sheets[evaluation.task] = *std::move(evaluation.sheet);
  return std::nullopt;
}

std::variant<EvaluationRecord, Failure> Evaluation::Run(std::int64_t step, const Wanted& wanted,
                                                        Blame& blame) {
  std::vector<std::string> tasks;
  if (wanted.whole) tasks = setting_.mixer.mixture().Active();
  for (const std::string& task : wanted.asked) {
    if (std::ranges::find(tasks, task) == tasks.end()) tasks.push_back(task);
  }
  const std::vector<std::string> own = setting_.division.OwnTasks(tasks);
  EvaluationRecord record;
  std::vector<TaskEvaluation> evaluations;
  WorkProgress progress;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const auto tell = [&](double share) {
      progress.Say("evaluating " + own[i], static_cast<double>(i) + share, static_cast<double>(own.size()));
    };
    evaluations.push_back(Evaluate(own[i], step, tell));
    if (!setting_.alone) continue;
    if (const auto end = Take(std::move(evaluations.back()), step, blame, record)) return *end;
  }
  if (!setting_.alone) {
    for (const std::string& bytes : setting_.rounds.Everyones(ToBytes(evaluations))) {
      for (TaskEvaluation& one : TaskEvaluationsOf(bytes)) {
        if (const auto end = Take(std::move(one), step, blame, record)) return *end;
      }
    }
  }
  std::string line = "step " + std::to_string(step) + " evaluated";
  if (wanted.whole) {
    const double mean = Compare(record.tasks, wanted.stage);
    line += record.tasks.empty() ? ": no task is left" : ", mean loss " + FormatNumber(mean);
  }
  if (!record.tasks.empty())
    line += "\n" + ScoresTable(ScoresAfter(step, record.tasks), ScoreColumns::kAnswer);
  if (const std::string text = TextLossesTable(ScoresAfter(step, record.tasks)); !text.empty()) line += text;
  if (line.back() == '\n') line.pop_back();  // the console ends its line
  setting_.console.Say(line);
  return record;
}

void Evaluation::WarnOfNoNumber(const std::string& task, const ScoreRecord& score, std::int64_t step) {
  if (!std::isfinite(score.loss))
    setting_.console.Warn("step " + std::to_string(step) + ": the held-out loss of " + task +
                          " is not finite; the evaluation counts for no best checkpoint");
  if (std::isnan(score.score.value))
    setting_.console.Warn("evaluation after step " + std::to_string(step) + ": " + NoScoreWords(task, score));
}

// The mean loss of the active tasks, by which checkpoints compare.
double Evaluation::Compare(std::map<std::string, ScoreRecord> scores, const std::string& stage) {
  const std::vector<std::string> active = setting_.mixer.mixture().Active();
  std::erase_if(scores,
                [&](const auto& score) { return std::ranges::find(active, score.first) == active.end(); });
  MeanEvaluation mean{.loss = MeanLoss(scores), .tasks = {}, .stage = stage};
  std::string rows = std::to_string(setting_.config.seed);
  for (const auto& [task, score] : scores) {
    mean.tasks.push_back(task);
    rows += "\n" + setting_.rules.RowsHeldOut(task);
  }
  mean.rows = HashText(rows);
  evaluated_.reset();
  if (std::isfinite(mean.loss)) evaluated_ = mean;
  return mean.loss;
}

void Evaluation::Save(json& progress) const {
  progress["eval_rows_at_once"] = rows_at_once_;
  progress["evaluated"] = ToJson(evaluated_);
  if (was_at_start_) progress["evaluated_at_start"] = true;
}

void Evaluation::Load(const json& progress) {
  rows_at_once_.clear();
  const json rows_at_once = progress.value("eval_rows_at_once", json::object());
  for (const auto& [task, rows] : rows_at_once.items())
    rows_at_once_[task] = CheckedCount(rows, "eval_rows_at_once of " + task, 1, kEvalRows);
  was_at_start_ = progress.value("evaluated_at_start", false);
  evaluated_ = ReadMeanEvaluation(progress.value("evaluated", json()));
}

}  // namespace medley
