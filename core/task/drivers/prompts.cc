#include <medley/task/drivers/prompts.h>

#include <ATen/core/Tensor.h>

#include <utility>

#include <medley/task/drivers/labels.h>
#include <medley/task/drivers/row.h>
#include <medley/task/drivers/streams.h>

namespace medley {

Prompts::Prompts(const TaskContext& context, std::string name, const TextList& list)
    : name_(std::move(name)), constant_(list.name), table_(TableOf(context.tokenizer(), list)) {}

void Prompts::Add(Batch& batch, const std::vector<std::int64_t>& texts) const {
  std::vector<std::int64_t> lengths;
  for (const std::int64_t text : texts) {
    const auto row = batch.rows().begin + static_cast<std::int64_t>(lengths.size());
    CheckDrawn(row, "prompt", text, table_.rows());
    lengths.push_back(table_.Length(text));
  }
  batch.Add(name_ + ".prompt", IntColumn(texts));
  batch.Add(name_ + ".lengths", IntColumn(lengths));
}

void Prompts::AddDrawn(Batch& batch) const {
  std::vector<std::int64_t> texts;
  const auto draw = [&](Row& row) { texts.push_back(Draw(row.range, row.random)); };
  ForEachRow(batch.rows(), draw, kTextStream);
  Add(batch, texts);
}

TextPart Prompts::Part(PassContext& context) const {
  const at::Tensor table = context.Constant(constant_).narrow(1, 0, table_.longest());
  return {.term = "",
          .tokens = table.index_select(0, context.batch().Column(name_ + ".prompt")),
          .lengths = context.batch().Column(name_ + ".lengths")};
}

ModelInputs Prompts::Inputs(ModelInputs inputs, PassContext& context) const {
  const TextPart part = Part(context);
  inputs.push_back({.name = "tokens", .tensor = part.tokens, .key = ""});
  inputs.push_back({.name = "lengths", .tensor = part.lengths, .key = ""});
  return inputs;
}

}  // namespace medley
