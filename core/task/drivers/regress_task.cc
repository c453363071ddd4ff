#include <medley/task/drivers/regress_task.h>

#include <ATen/ops/cat.h>
#include <ATen/ops/nanmean.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include <medley/base/error.h>
#include <medley/data/item_stream.h>
#include <medley/task/drivers/input_columns.h>
#include <medley/task/drivers/judge_pictures.h>
#include <medley/task/drivers/sheet.h>

namespace medley {
namespace {

NumberError NumberErrorOf(const std::string& word) {
  if (word == "absolute") return NumberError::kAbsolute;
  return word == "huber" ? NumberError::kHuber : NumberError::kSquared;
}

// Of training's first items, where rows are items; `draw`: the targets of a row.
template <typename Draw>
at::Tensor TrainedMean(const ItemStream* items, const at::Tensor& otherwise, const Draw& draw) {
  constexpr std::int64_t kMostDrawn = 4096;
  if (items == nullptr) return otherwise;
  const std::int64_t rows = std::min(kMostDrawn, items->size(Split::kTraining));
  std::vector<double> targets;
  ForEachRow({.count = rows}, [&](Row& row) {
    for (const double target : draw(row)) targets.push_back(target);
  });
  return at::tensor(targets, at::kDouble).view({rows, -1}).mean(0);
}

// Of each row 1 - (error / deviation)^2, whose mean over the rows is R2: [rows, targets] double; NaN where
// nothing varies.
at::Tensor ExplainedShares(const at::Tensor& answers, const at::Tensor& targets) {
  const at::Tensor variance = targets.sub(targets.mean(0)).square_().mean(0);
  const at::Tensor shares = answers.sub(targets).square_().div_(variance).neg_().add_(1);
  return at::where(variance.gt(0), shares, kNotCounted);
}

}  // namespace

RegressTask::RegressTask(const TaskContext& context, const TaskSpec& spec)
    : spec_(spec), loss_(NumberErrorOf(context.Word("loss"))) {}

at::Tensor RegressTask::Show(const Batch& rows) const { return ShownColumn(spec_.inputs, rows); }

Batch RegressTask::Sample(const RowRange& rows) const {
  InputColumns inputs(spec_.inputs);
  std::vector<double> targets;
  std::size_t of_a_row = 0;
  ForEachRow(rows, [&](Row& row) {
    Regressed drawn = Draw(row);
    inputs.Add(row, std::move(drawn.inputs));
    if (row.index() == 0) of_a_row = drawn.targets.size();
    if (drawn.targets.empty() || drawn.targets.size() != of_a_row)
      throw Error("row " + std::to_string(row.number) + " has " + std::to_string(drawn.targets.size()) +
                  " targets, the row before it " + std::to_string(of_a_row) +
                  "; expected as many in every row");
    for (std::size_t i = 0; i < drawn.targets.size(); ++i) {
      if (!std::isfinite(drawn.targets[i]))
        throw InputError("row " + std::to_string(row.number) + ": its target '" +
                         NameOf(static_cast<std::int64_t>(i)) + "' is not finite");
      targets.push_back(drawn.targets[i]);
    }
  });
  Batch batch(rows);
  inputs.MoveTo(batch);
  batch.Add("targets", at::tensor(targets, at::kFloat).view({rows.count, -1}));
  batch.CountEach("error");
  return batch;
}

Sums RegressTask::Run(std::string_view, PassContext& context) const {
  const at::Tensor answers = OutputOfColumns(spec_, context);
  return {{"error", NumberErrors(answers, context.batch().Column("targets"), loss_).sum()}};
}

// "damping 0.52, frequency 0.18"
std::string RegressTask::Words(const at::Tensor& numbers) const {
  std::string words;
  for (std::int64_t i = 0; i < numbers.size(0); ++i)
    words += (i == 0 ? "" : ", ") + NameOf(i) + c10::str(" ", numbers[i].item<float>());
  return words;
}

Outcomes RegressTask::Evaluate(EvalContext& context, const RowRange& rows) const {
  Outcomes outcomes;
  if (rows.count == 0) return outcomes;
  std::vector<at::Tensor> pieces, right;
  Sheet sheet;
  std::size_t seen = 0;
  context.ForEachPiece(rows, [&](EvalPass& piece) {
    pieces.push_back(OutputOfColumns(spec_, piece).to(at::kCPU, at::kDouble));
    right.push_back(piece.batch().Column("targets").to(at::kCPU, at::kDouble));
    if (Sheet::Shows(seen)) {
      if (const at::Tensor shown = Show(piece.batch().To(at::kCPU)); shown.defined())
        sheet.Add(shown.to(at::kFloat).div_(255));
    }
    for (std::int64_t i = 0; i < right.back().size(0) && Sheet::Shows(seen); ++i, ++seen)
      sheet.Add(seen, {.question = "which numbers?",
                       .reply = Words(pieces.back()[i]),
                       .right = Words(right.back()[i]),
                       .is_measured = true});
  });
  const at::Tensor answers = at::cat(pieces), targets = at::cat(right);
  AppendRows(outcomes.score, at::nanmean(ExplainedShares(answers, targets), 1));
  const at::Tensor mean = TrainedMean(Items(), targets.mean(0), [&](Row& row) { return Draw(row).targets; });
  AppendRows(outcomes.trivial["mean of the targets"],
             at::nanmean(ExplainedShares(mean.expand_as(targets), targets), 1));
  const at::Tensor errors = answers.sub(targets).abs();
  for (std::int64_t i = 0; i < errors.size(1); ++i)
    AppendRows(outcomes.Amount("absolute error of " + NameOf(i)), errors.select(1, i));
  sheet.MoveTo(outcomes);
  return outcomes;
}

}  // namespace medley
