#include <medley/task/drivers/judge_pictures.h>

#include <ATen/ops/cat.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/nanmean.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>

#include <medley/task/drivers/sheet.h>
#include <medley/task/losses.h>

namespace medley {
namespace {

// [rows, 1, size, size] bool
at::Tensor FarPixels(const at::Tensor& target, const at::Tensor& answer) {
  return target.sub(answer).abs().amax(1, /*keepdim=*/true).gt(0.5);
}

// NaN in a row without such pixels.
at::Tensor ErrorsIn(const at::Tensor& region, const at::Tensor& output, const at::Tensor& target) {
  return at::where(region.flatten(1).any(1), RegionErrors(output, target, region, 1), kNotCounted);
}

}  // namespace

at::Tensor SumOfPictures(EvalContext& context, const RowRange& rows, const std::string& column) {
  at::Tensor sum;
  context.ForEachPiece(rows, [&](EvalPass& piece) {
    const at::Tensor part = piece.Pixels(column).to(at::kDouble).sum(0, /*keepdim=*/true);
    sum = sum.defined() ? sum.add_(part) : part;
  });
  return sum;
}

at::Tensor MeanOfOthers(const at::Tensor& sum, std::int64_t count, const at::Tensor& pictures) {
  if (count < 2) return at::full_like(pictures, kNotCounted);
  return sum.sub(pictures.to(at::kDouble)).div_(static_cast<double>(count - 1)).to(pictures.scalar_type());
}

Outcomes JudgePictures(EvalContext& context, const RowRange& rows, const PictureExam& exam) {
  Outcomes outcomes;
  if (rows.count == 0) return outcomes;
  const at::Tensor sum_of_targets = SumOfPictures(context, rows, exam.target);
  Sheet sheet;
  context.ForEachPiece(rows, [&](EvalPass& piece) {
    const at::Tensor input = piece.Pixels(exam.input);
    const at::Tensor target = piece.Pixels(exam.target);
    const at::Tensor mean = MeanOfOthers(sum_of_targets, rows.count, target);
    // Judged as it is saved: a picture has no value outside [0, 1].
    const at::Tensor output = piece.Forward(exam.inputs(piece), {exam.output}).at(exam.output).clamp(0, 1);

    const at::Tensor changes = DifferentPixels(target, input);
    const at::Tensor unusual =
        exam.judge_what_stays ? FarPixels(target, mean).logical_and(changes.logical_not()) : at::Tensor();
    const at::Tensor elsewhere = (unusual.defined() ? changes.logical_or(unusual) : changes).logical_not();
    const auto judge = [&](const at::Tensor& answer) {
      if (!unusual.defined()) return RegionErrors(answer, target, changes, 1);
      const at::Tensor parts =
          at::stack({ErrorsIn(changes, answer, target), ErrorsIn(unusual, answer, target),
                     ErrorsIn(elsewhere, answer, target)});
      return at::nanmean(parts, 0);
    };
    AppendRows(outcomes.score, judge(output));
    AppendRows(outcomes.trivial[exam.mean_answer], judge(mean));
    if (exam.input_is_an_answer) AppendRows(outcomes.trivial["input"], judge(input));
    if (unusual.defined()) {
      AppendRows(outcomes.Amount("error_of_what_goes"), ErrorsIn(changes, output, target));
      AppendRows(outcomes.Amount("error_of_what_stays"), ErrorsIn(unusual, output, target));
    }
    if (exam.input_is_an_answer) {  // else nothing should change, and the score is the error of it all
      AppendRows(outcomes.Amount("error_elsewhere"), ErrorsIn(elsewhere, output, target));
    }
    if (exam.more) exam.more({piece.batch().rows(), input, target, mean, output}, outcomes);
    sheet.Add(input, target, output);
  });
  sheet.MoveTo(outcomes);
  return outcomes;
}

at::Tensor SideBySide(const std::vector<at::Tensor>& pictures) { return at::cat(pictures, /*dim=*/3); }

void AppendRows(std::vector<double>& outcome, const at::Tensor& values) {
  const at::Tensor host = values.to(at::kCPU, at::kDouble).contiguous();
  const double* first = host.const_data_ptr<double>();
  outcome.insert(outcome.end(), first, first + host.numel());
}

}  // namespace medley
