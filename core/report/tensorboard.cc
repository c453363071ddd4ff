#include <medley/report/tensorboard.h>

#include <algorithm>
#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/report/speeds.h>
#include <medley/report/table.h>

namespace medley {
namespace {

constexpr double kMiB = 1 << 20;
constexpr const char* kBytes = "MiB";

std::string ScoreHelp(const ScoreRecord& score) {
  return score.metric + ", " + DirectionName(score.higher_is_better) + " is better" +
         (score.chance ? "; chance " + FormatNumber(*score.chance) : "");
}

// What the plan allows the step's draws; 0 where nothing was planned.
std::int64_t PlannedBytes(const StepRecord& record) {
  std::int64_t most = 0;
  for (const DrawReceipt& draw : record.receipts) most = std::max(most, draw.predicted + draw.margin);
  return most;
}

// What one looks at first comes first.
std::vector<ChartCategory> Layout() {
  return {{.title = "overview",
           .charts = {{"scores", "score/[^/]+$"}, {"memory, MiB", "memory/"}, {"shares", "share/"}}},
          {.title = "losses", .charts = {{"of tasks", "loss/[^/]+$"}, {"of terms", "loss/[^/]+/"}}},
          {.title = "training",
           .charts = {{"learning rate", "optimizer/learning_rate"},
                      {"norm of the gradient", "optimizer/gradient_norm"},
                      {"rows a second", "speed/rows"},
                      {"floating-point operations a second", "speed/operations"},
                      {"rows at once", "rows_at_once/"}}},
          {.title = "phases",
           .charts = {{"memory, MiB", "phase/memory_"}, {"jumps", "jump/"}},
           .is_closed = true}};
}

}  // namespace

TensorBoard::TensorBoard(const std::filesystem::path& directory, const LogMarks& marks, Console& console)
    : file_(directory / kTensorBoardLog, MarkOf(marks, kTensorBoardLog).bytes),
      watch_(console, "TensorBoard does not show the newest steps"),
      durable_(file_.log().mark()) {
  if (!file_.trouble().empty()) console.Warn(file_.trouble());
  if (file_.is_new()) file_.Layout(Layout());
}

void TensorBoard::Take(const StepRecord& record) {
  const auto add = [&](const std::string& tag, double value, const char* help = "") {
    file_.Scalar(tag, record.step, value, help);
  };
  for (const auto& [task, terms] : record.losses) {
    if (const auto total = TotalLoss(terms)) add("loss/" + task, *total, "weighted sum of the terms");
    for (const auto& [name, term] : terms) {
      if (const auto mean = term.mean()) add("loss/" + task + "/" + name, *mean, "mean over items");
    }
  }
  for (const auto& [task, share] : record.delivered)
    add("share/" + task, share, "share of what was delivered since the stage began");
  add("memory/now", static_cast<double>(record.memory_now) / kMiB, kBytes);
  add("memory/peak", static_cast<double>(record.memory_peak) / kMiB, kBytes);
  if (const std::int64_t planned = PlannedBytes(record); planned > 0)
    add("memory/planned", static_cast<double>(planned) / kMiB, kBytes);
  if (record.seconds > 0)
    add("speed/rows_per_second", static_cast<double>(record.rows()) / record.seconds, "rows/s");
  for (const auto& [task, speed] : SpeedsOf(record))
    add("speed/operations_per_second/" + task, speed.per_second(), "floating-point, by the plan's counts");
  add("optimizer/learning_rate", record.learning_rate, "of a parameter without a scale of its own");
  add("optimizer/gradient_norm", record.gradient_norm, "before clipping");
  if (record.evaluation) Add(*record.evaluation, record.step);
  watch_.Look(file_.log());
}

void TensorBoard::Take(const EvaluationRecord& at_start) {
  Add(at_start, 0);
  watch_.Look(file_.log());
}

void TensorBoard::Add(const EvaluationRecord& evaluation, std::int64_t step) {
  for (const auto& [task, score] : evaluation.tasks) {
    file_.Scalar("score/" + task, step, score.score.value, ScoreHelp(score));
    for (const auto& [name, figure] : score.figures)
      file_.Scalar("score/" + task + "/" + name, step, figure.value.value);
    for (const auto& [term, text] : score.text) {
      file_.Scalar("perplexity/" + task + "/" + term, step, text.perplexity());
      if (const auto bits = text.bits_per_byte())
        file_.Scalar("bits_per_byte/" + task + "/" + term, step, *bits);
    }
  }
  for (const auto& [task, sheet] : evaluation.sheets) file_.Image("sheet/" + task, step, sheet);
}

void TensorBoard::Take(const PlanRecord& record) {
  file_.Scalar("rows_at_once/" + record.task, record.step, static_cast<double>(record.to),
               "of a forward, in the plan in force");
}

void TensorBoard::Take(const PhaseRecord& record) {
  const auto add = [&](const char* tag, double value, const char* help = "") {
    file_.Scalar(tag, record.step, value, help);
  };
  add("phase/memory_before", static_cast<double>(record.memory.before) / kMiB, kBytes);
  add("phase/memory_after", static_cast<double>(record.memory.after) / kMiB, kBytes);
  add("phase/memory_peak", static_cast<double>(record.memory.peak) / kMiB, kBytes);
  add("phase/memory_held", static_cast<double>(record.memory.held) / kMiB, kBytes);
  add("phase/weight_copies", static_cast<double>(record.memory.copies), "whole ones beside the model");
  if (!record.jump) return;
  add("jump/gain", record.jump->gain, "of loss, by the predicted parameters");
  add("jump/taken", record.jump->taken ? 1 : 0, "1: the run goes on with them");
  add("jump/row_forwards", static_cast<double>(record.jump->forwards), "of a row, to look at them");
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
