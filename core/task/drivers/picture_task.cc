#include <medley/task/drivers/picture_task.h>

#include <array>
#include <numeric>
#include <utility>

#include <medley/task/drivers/labels.h>
#include <medley/task/drivers/mixed_pass.h>
#include <medley/task/drivers/streams.h>
#include <medley/task/losses.h>

namespace medley {

PictureTask::PictureTask(const TaskContext& context, const TaskSpec& spec, const TextList& prompts)
    : variant_(context.variant),
      size_(context.image().size),
      pad_(context.tokenizer().pad()),
      region_share_(context.Option("region_share")),
      list_(prompts),
      prompts_(context, "task", prompts) {
  if (spec.variants.empty()) return;
  mixed_width_ = spec.variants[0].passes[0].text_width;
  control_.emplace(context);
}

Batch PictureTask::Sample(const RowRange& rows) const {
  PictureColumn inputs(rows.count, size_), targets(rows.count, size_);
  std::vector<std::int64_t> prompts;
  ForEachRow(rows, [&](Row& row) {
    const Prompt given = Draw(row, inputs[row.index()], targets[row.index()]);
    RowRandom random = rows.Random(row.number, kTextStream);
    prompts.push_back(given && !rows.longest ? *given : prompts_.Draw(rows, random));
  });
  Batch batch(rows);
  batch.Add("image", inputs.tensor());
  batch.Add("target", targets.tensor());
  prompts_.Add(batch, prompts);
  if (variant_ == "fused") {
    const std::vector<std::int64_t> kinds = FusedKinds(rows, 2);
    const std::vector<bool> control = OfKind(kinds, kControl);
    AddKinds(batch, "fused", IntColumn(kinds));
    batch.SetItems("image", IntColumn(kinds));  // kTask is 1
    control_->Sample(batch, /*decodes_image=*/true, &control);
    return batch;
  }
  batch.CountEach("image");
  if (control_) control_->Sample(batch, /*decodes_image=*/true);
  if (variant_ == "carry") SampleOrder(batch);
  return batch;
}

// What each row makes first, and which control text is learned in which of the two passes.
void PictureTask::SampleOrder(Batch& batch) const {
  const RowRange& rows = batch.rows();
  const std::int64_t* lengths = batch.Column("control.lengths").const_data_ptr<std::int64_t>();
  std::vector<std::int64_t> first_kinds, second_kinds;
  std::vector<std::vector<std::int64_t>> first, second;
  for (std::int64_t i = 0; i < rows.count; ++i) {
    first_kinds.push_back(BalancedLabel(rows.begin + i, 2));
    second_kinds.push_back(1 - first_kinds.back());
    std::vector<std::int64_t> positions(static_cast<std::size_t>(lengths[i] - 1));
    std::iota(positions.begin(), positions.end(), 1);
    const bool control_first = first_kinds.back() == kControl;
    first.push_back(control_first ? positions : std::vector<std::int64_t>{});
    second.push_back(control_first ? std::vector<std::int64_t>{} : positions);
  }
  AddKinds(batch, "first", IntColumn(first_kinds));
  AddKinds(batch, "second", IntColumn(second_kinds));
  batch.AddRagged("first.learned", first);
  batch.AddRagged("second.learned", second);
}

// Control's picture is its own target. Made here, so that a step has no picture more than that of a pass
// alone.
void PictureTask::AddKinds(Batch& batch, const std::string& pass, at::Tensor kinds) {
  const std::array targets{batch.Column("image"), batch.Column("target")};
  batch.Add(pass + ".target", RowsOfKinds(targets, kinds));
  batch.Add(pass + ".kind", std::move(kinds));
}

Sums PictureTask::Run(std::string_view pass, PassContext& context) const {
  if (pass == "control") return control_->Run(context, /*decodes_image=*/true);
  if (pass != "task") return RunMixed(std::string(pass), context);
  const ModelOutputs outputs = context.Forward(prompts_.Inputs({context.Image("image")}, context), {"image"});
  const at::Tensor target = context.Pixels("target"), input = context.Pixels("image");
  if (region_share_ == 0) return {{"image", SumPictureError(outputs.at("image"), target, input, 0)}};
  return {{"image", Errors(outputs.at("image"), target, input).sum()}};
}

at::Tensor PictureTask::Region(const at::Tensor& target, const at::Tensor& input) const {
  return DifferentPixels(target, input);
}

at::Tensor PictureTask::Errors(const at::Tensor& picture, const at::Tensor& target,
                               const at::Tensor& input) const {
  const at::Tensor region = region_share_ == 0 ? at::Tensor() : Region(target, input);
  return RegionErrors(picture, target, region, region_share_);
}

Sums PictureTask::RunMixed(const std::string& pass, PassContext& context) const {
  const Batch& batch = context.batch();
  const at::Tensor& kind = batch.Column(pass + ".kind");
  TextPart control = control_->Part(batch);
  if (variant_ == "carry") control.learned = &batch.Ragged(pass + ".learned");
  const TextPart parts[] = {control, prompts_.Part(context)};
  ModelInputs pictures;
  if (pass == "second") pictures.push_back(context.Image("c1"));
  pictures.push_back(context.Image("image"));
  // Control's rows draw what they see.
  ModelInputs inputs = MixedInputs(std::move(pictures), parts, kind, mixed_width_, pad_);
  inputs.push_back({.name = "drawn_alone", .tensor = kind.eq(kControl), .key = ""});
  const ModelOutputs outputs = context.Forward(inputs, {"losses", "image"});
  const at::Tensor& picture = outputs.at("image");
  if (pass == "first") context.Carry("c1", picture);

  // Where control's picture is its own target there is no region that changes.
  const at::Tensor errors = Errors(picture, context.Pixels(pass + ".target"), context.Pixels("image"));
  Sums sums = MixedCrossEntropy(parts, outputs);
  sums["control_image"] = errors.mul(kind.eq(kControl)).sum();
  sums["image"] = errors.mul(kind.eq(kTask)).sum();
  return sums;
}

Outcomes PictureTask::Evaluate(EvalContext& context, const RowRange& rows) const {
  PictureExam exam{.input_is_an_answer = true, .inputs = [this](EvalPass& piece) {
                     return prompts_.Inputs({piece.Image("image")}, piece);
                   }};
  Refine(exam);
  return JudgePictures(context, rows, exam);
}

at::Tensor PictureTask::Constant(std::string_view) const { return prompts_.Constant(); }

}  // namespace medley
