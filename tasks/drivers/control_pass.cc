#include "tasks/drivers/control_pass.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/ones.h>

#include <algorithm>

#include <medley/task/losses.h>
#include <medley/task/text_rows.h>

#include "tasks/drivers/streams.h"

namespace medley::tasks {

ControlPass::ControlPass(const TaskContext& context)
    : tokenizer_(context.tokenizer), lines_(context.control_text), pad_(tokenizer_.pad()), eos_(tokenizer_.eos()) {
  if (lines_.empty()) throw InputError("the control text has no lines; it needs one at least");
}

void ControlPass::Sample(Batch& batch, bool decodes_image) const {
  const RowRange& rows = batch.rows();
  std::vector<std::vector<std::int64_t>> tokens;
  std::vector<std::int64_t> lengths;
  std::vector<LearnedSpan> learned;
  for (std::int64_t row = rows.begin; row < rows.begin + rows.count; ++row) {
    RowRandom random = rows.Random(row, kControlTextStream);
    const auto line = static_cast<std::size_t>(random.Below(static_cast<std::int64_t>(lines_.size())));
    std::vector<std::int64_t> ids = tokenizer_.Encode(lines_[line]);
    ids.push_back(eos_);
    // A line that is cut has no eos: it does not end there.
    if (ids.size() > kControlWidth) ids.resize(kControlWidth);
    lengths.push_back(static_cast<std::int64_t>(ids.size()));
    learned.push_back({1, lengths.back()});
    tokens.push_back(std::move(ids));
  }
  batch.Add("control.tokens", PadRows(tokens, kControlWidth, pad_));
  batch.Add("control.lengths", IntColumn(lengths));
  AddLearned(batch, "control.learned", "control_text", learned);
  if (decodes_image) batch.SetItems("control_image", at::ones({rows.count}, at::kLong));
}

ModelInputs ControlPass::Inputs(PassContext& context) const {
  const Batch& batch = context.batch();
  return {context.Image("image"),
          {.name = "tokens", .tensor = batch.Column("control.tokens"), .key = ""},
          {.name = "lengths", .tensor = batch.Column("control.lengths"), .key = ""}};
}

Sums ControlPass::Run(PassContext& context, bool decodes_image) const {
  ModelInputs inputs = Inputs(context);
  const RaggedColumn& learned = context.batch().Ragged("control.learned");
  inputs.push_back({.name = "supervised", .tensor = FlatPositions(learned, kControlWidth), .key = ""});
  WantedOutputs wanted{"logits"};
  if (decodes_image) wanted.push_back("image");

  const ModelOutputs outputs = context.Forward(inputs, wanted);
  Sums sums{{"control_text", SumCrossEntropy(outputs.at("logits"), outputs.at("targets"))}};
  if (decodes_image) {
    const at::Tensor picture = context.Pixels("image");
    sums["control_image"] = SumPictureError(outputs.at("image"), picture, picture, 0);
  }
  return sums;
}

}  // namespace medley::tasks
