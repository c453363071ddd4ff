#include <medley/task/drivers/control_pass.h>

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <utility>

#include <medley/task/file_texts.h>
#include <medley/task/losses.h>
#include <medley/task/text_rows.h>

namespace medley {

ControlPass::ControlPass(const TaskContext& context, ControlNames names) : names_(std::move(names)) {
  if (context.control_text().empty())
    throw InputError("the control text has no lines; it needs one at least");
  const FileTexts texts(context);
  std::vector<std::vector<std::int64_t>> lines;
  for (const std::string& text : context.control_text()) {
    std::vector<std::int64_t> ids = texts.Encode(text);
    ids.push_back(context.tokenizer().eos());
    // A line that is cut has no eos: it does not end there.
    if (ids.size() > kControlWidth) ids.resize(kControlWidth);
    lengths_.push_back(static_cast<std::int64_t>(ids.size()));
    lines.push_back(std::move(ids));
  }
  lines_ = PadRows(lines, kControlWidth, context.tokenizer().pad());
}

void ControlPass::Sample(Batch& batch, bool decodes_image, const std::vector<bool>* mine) const {
  const RowRange& rows = batch.rows();
  const std::int64_t longest = std::ranges::max_element(lengths_) - lengths_.begin();
  std::vector<std::int64_t> lines, lengths, pictures;
  std::vector<LearnedSpan> learned;
  for (std::int64_t row = rows.begin; row < rows.begin + rows.count; ++row) {
    RowRandom random = rows.Random(row, names_.stream);
    lines.push_back(rows.longest ? longest : random.Below(static_cast<std::int64_t>(lengths_.size())));
    lengths.push_back(lengths_[static_cast<std::size_t>(lines.back())]);
    const bool is_mine = mine == nullptr || (*mine)[learned.size()];
    learned.push_back(is_mine ? LearnedSpan{1, lengths.back()} : LearnedSpan{});
    pictures.push_back(is_mine ? 1 : 0);
  }
  batch.Add(Column("tokens"), lines_.index_select(0, IntColumn(lines)));
  batch.Add(Column("lengths"), IntColumn(lengths));
  AddLearned(batch, Column("learned"), names_.name + "_text", learned);
  if (decodes_image) batch.SetItems(names_.name + "_image", IntColumn(pictures));
}

ModelInputs ControlPass::Inputs(PassContext& context) const {
  const Batch& batch = context.batch();
  ModelInputs inputs;
  for (const std::string_view image : names_.images) inputs.push_back(context.Image(image));
  inputs.push_back({.name = "tokens", .tensor = batch.Column(Column("tokens")), .key = ""});
  inputs.push_back({.name = "lengths", .tensor = batch.Column(Column("lengths")), .key = ""});
  return inputs;
}

ModelOutputs ControlPass::Forward(PassContext& context, bool decodes_image) const {
  ModelInputs inputs = Inputs(context);
  const RaggedColumn& learned = context.batch().Ragged(Column("learned"));
  inputs.push_back({.name = "supervised", .tensor = FlatPositions(learned, kControlWidth), .key = ""});
  WantedOutputs wanted{"losses"};
  if (decodes_image) wanted.push_back("drawing");
  return context.Forward(inputs, wanted);
}

Sums ControlPass::Losses(PassContext& context, const ModelOutputs& outputs) const {
  Sums sums{{names_.name + "_text", SumLosses(outputs.at("losses"))}};
  if (outputs.count("drawing") > 0) {
    const at::Tensor picture = context.Pixels(names_.images[names_.images.size() - 1]);
    sums[names_.name + "_image"] = SumPictureError(outputs.at("drawing"), picture, picture, 0);
  }
  return sums;
}

TextPart ControlPass::Part(const Batch& batch) const {
  return {.term = names_.name + "_text",
          .tokens = batch.Column(Column("tokens")),
          .lengths = batch.Column(Column("lengths")),
          .learned = &batch.Ragged(Column("learned"))};
}

Sums ControlPass::Run(PassContext& context, bool decodes_image) const {
  return Losses(context, Forward(context, decodes_image));
}

}  // namespace medley
