#include <medley/report/tensorboard.h>

#include <algorithm>
#include <string>

#include <medley/base/error.h>

namespace medley {
namespace {

constexpr double kMiB = 1 << 20;

// What the plan allows the step's draws; 0 where nothing was planned.
std::int64_t PlannedBytes(const StepRecord& record) {
  std::int64_t most = 0;
  for (const DrawReceipt& draw : record.receipts) most = std::max(most, draw.predicted + draw.margin);
  return most;
}

}  // namespace

TensorBoard::TensorBoard(const std::filesystem::path& directory, const LogMarks& marks, Console& console)
    : file_(directory / kTensorBoardLog, MarkOf(marks, kTensorBoardLog).bytes),
      watch_(console, "TensorBoard does not show the newest steps"),
      durable_(file_.log().mark()) {
  if (!file_.trouble().empty()) console.Warn(file_.trouble());
}

void TensorBoard::Take(const StepRecord& record) {
  const auto add = [&](const std::string& tag, double value) { file_.Scalar(tag, record.step, value); };
  for (const auto& [task, terms] : record.losses) {
    if (const auto total = TotalLoss(terms)) add("loss/" + task, *total);
    for (const auto& [name, term] : terms) {
      if (const auto mean = term.mean()) add("loss/" + task + "/" + name, *mean);
    }
  }
  for (const auto& [task, share] : record.delivered) add("share/" + task, share);
  add("memory/now", static_cast<double>(record.memory_now) / kMiB);
  add("memory/peak", static_cast<double>(record.memory_peak) / kMiB);
  if (const std::int64_t planned = PlannedBytes(record); planned > 0)
    add("memory/planned", static_cast<double>(planned) / kMiB);
  if (record.seconds > 0) add("speed/rows_per_second", static_cast<double>(record.rows()) / record.seconds);
  add("optimizer/learning_rate", record.learning_rate);
  add("optimizer/gradient_norm", record.gradient_norm);
  if (record.evaluation) Add(*record.evaluation, record.step);
  watch_.Look(file_.log());
}

void TensorBoard::Add(const EvaluationRecord& evaluation, std::int64_t step) {
  for (const auto& [task, score] : evaluation.tasks) {
    file_.Scalar("score/" + task, step, score.score.value);
    for (const auto& [name, figure] : score.figures)
      file_.Scalar("score/" + task + "/" + name, step, figure.value.value);
  }
  for (const auto& [task, sheet] : evaluation.sheets) file_.Image("sheet/" + task, step, sheet);
}

void TensorBoard::Take(const PlanRecord& record) {
  file_.Scalar("rows_at_once/" + record.task, record.step, static_cast<double>(record.to));
}

void TensorBoard::Sync(LogMarks& marks) {
  try {
    file_.Sync();
    durable_ = file_.log().mark();
    watch_.Synced();
  } catch (const Error& error) {
    watch_.Failed(error.what());
  }
  marks[kTensorBoardLog] = durable_;
}

}  // namespace medley
