#include <medley/task/drivers/carry_task.h>

#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include <medley/base/error.h>
#include <medley/task/drivers/judge_pictures.h>
#include <medley/task/drivers/sheet.h>
#include <medley/task/losses.h>

namespace medley {
namespace {

constexpr char kItems[] = "items";

// A pass may look at the row's picture, or at what was drawn before it.
void CheckLooks(const TaskSpec& spec) {
  for (auto pass = spec.passes.begin(); pass != spec.passes.end(); ++pass) {
    const std::string_view seen = pass->images[0];
    const bool is_known =
        std::any_of(spec.passes.begin(), pass, [&](const PassSpec& p) { return p.name == seen; });
    if (seen == "image" || is_known) continue;
    throw Error("pass '" + std::string(pass->name) + "' looks at '" + std::string(seen) +
                "'; expected \"image\" or the name of a pass before it");
  }
}

}  // namespace

CarryTask::CarryTask(const TaskContext& context, const TaskSpec& spec, const TextList& prompts)
    : spec_(spec), size_(context.image().size), list_(prompts), prompts_(context, "task", prompts) {
  CheckLooks(spec);
}

bool CarryTask::IsLast(std::string_view pass) const {
  return pass == spec_.passes[spec_.passes.size() - 1].name;
}

bool CarryTask::HasItems(std::string_view pass) const {
  return std::ranges::any_of(spec_.terms,
                             [&](const TermSpec& term) { return term.name == pass && term.max_items > 1; });
}

Batch CarryTask::Sample(const RowRange& rows) const {
  const PictureColumn images(rows.count, size_), targets(rows.count, size_);
  std::vector<std::vector<std::int64_t>> items;
  std::vector<std::int64_t> counts;
  ForEachRow(rows, [&](Row& row) {
    items.push_back(Draw(row, images[row.index()], targets[row.index()]));
    counts.push_back(std::ssize(items.back()));
  });
  Batch batch(rows);
  batch.Add("image", images.tensor());
  batch.Add("target", targets.tensor());
  batch.AddRagged(kItems, items);
  prompts_.AddDrawn(batch);
  for (const PassSpec& pass : spec_.passes) {
    if (HasItems(pass.name))
      batch.SetItems(std::string(pass.name), IntColumn(counts));
    else
      batch.CountEach(std::string(pass.name));
  }
  return batch;
}

// What a pass before the last is held against by itself is the picture that it may have seen: there a model
// that can copy has to draw.
at::Tensor CarryTask::Drawn(const PassSpec& pass, PassContext& context) const {
  const std::string_view wanted = IsLast(pass.name) ? "image" : "drawing";
  const ModelOutputs outputs =
      context.Forward(prompts_.Inputs({context.Image(pass.images[0])}, context), {wanted});
  const at::Tensor& drawn = outputs.at(std::string(wanted));
  if (!pass.carries.empty()) context.Carry(pass.name, drawn);
  return drawn;
}

at::Tensor CarryTask::Errors(std::string_view pass, const at::Tensor& drawn, PassContext& context) const {
  return RegionErrors(drawn, context.Pixels(IsLast(pass) ? "target" : "image"), /*region=*/{},
                      /*region_share=*/0);
}

at::Tensor CarryTask::CheckedErrors(std::string_view pass, const at::Tensor& drawn,
                                    PassContext& context) const {
  const Batch& batch = context.batch();
  const std::int64_t expected = HasItems(pass) ? batch.Ragged(kItems).values.size(0) : batch.size();
  at::Tensor errors = Errors(pass, drawn, context);
  if (errors.dim() == 1 && errors.size(0) == expected) return errors;
  throw Error("Errors of the pass '" + std::string(pass) + "' gave the shape " + c10::str(errors.sizes()) +
              "; expected [" + std::to_string(expected) + "], an error for each " +
              (HasItems(pass) ? "item" : "row"));
}

Sums CarryTask::Run(std::string_view name, PassContext& context) const {
  const auto pass = std::ranges::find(spec_.passes, name, &PassSpec::name);
  return {{std::string(name), CheckedErrors(name, Drawn(*pass, context), context).sum()}};
}

// Of items the mean in each row; NaN in a row without any.
at::Tensor CarryTask::ErrorsOfRows(std::string_view pass, const at::Tensor& drawn,
                                   PassContext& context) const {
  const at::Tensor errors = CheckedErrors(pass, drawn, context);
  if (!HasItems(pass)) return errors;
  const RaggedColumn& items = context.batch().Ragged(kItems);
  const at::Tensor none = at::zeros({context.batch().size()}, errors.options());
  return none.index_add(0, items.item_row, errors)
      .div_(none.index_add(0, items.item_row, at::ones_like(errors)));
}

Outcomes CarryTask::Evaluate(EvalContext& context, const RowRange& rows) const {
  Outcomes outcomes;
  if (rows.count == 0) return outcomes;
  const at::Tensor sum_of_targets = SumOfPictures(context, rows, "target");
  const PassSpec& last = spec_.passes[spec_.passes.size() - 1];
  Sheet sheet;
  context.ForEachPiece(rows, [&](EvalPass& piece) {
    at::Tensor drawn;
    for (const PassSpec& pass : spec_.passes) {
      // Judged as it is saved: a picture has no value outside [0, 1].
      drawn = Drawn(pass, piece).clamp(0, 1);
      std::vector<double>& errors =
          pass.name == last.name ? outcomes.score : outcomes.Amount("error of " + std::string(pass.name));
      AppendRows(errors, ErrorsOfRows(pass.name, drawn, piece));
    }
    const at::Tensor target = piece.Pixels("target");
    const auto judge = [&](const std::string& answer, const at::Tensor& picture) {
      AppendRows(outcomes.trivial[answer], ErrorsOfRows(last.name, picture, piece));
    };
    judge("a white picture", at::ones_like(target));
    judge("mean target", MeanOfOthers(sum_of_targets, rows.count, target));
    sheet.Add(piece.Pixels("image"), target, drawn);
  });
  sheet.MoveTo(outcomes);
  return outcomes;
}

}  // namespace medley
