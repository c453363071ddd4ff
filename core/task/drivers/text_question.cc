#include <medley/task/drivers/text_question.h>

#include <ATen/ops/cat.h>

#include <algorithm>
#include <utility>

#include <medley/task/drivers/labels.h>

namespace medley {

TextQuestion::TextQuestion(const Tokenizer& tokenizer, std::string_view name, std::string_view term,
                           NamedTable prompts, std::vector<NamedTable> replies, std::int64_t most_tokens)
    : tokenizer_(tokenizer),
      name_(name),
      term_(term),
      prompts_(std::move(prompts)),
      replies_(std::move(replies)) {
  std::int64_t rows = 0, longest = 0;
  for (std::size_t label = 0; label < replies_.size(); ++label) {
    const TextTable& table = *replies_[label].table;
    offset_.push_back(rows);
    rows += table.rows();
    if (table.longest() > longest) longest_reply_ = label;
    longest = std::max(longest, table.longest());
  }
  width_ = prompts_.table->longest() + longest;
  if (width_ <= most_tokens) return;
  throw InputError("question '" + name_ + "': its longest prompt and reply have " + std::to_string(width_) +
                   " tokens together, a row has " + std::to_string(most_tokens) +
                   ". Train the vocabulary on the task's texts (medley tokenizer train)");
}

void TextQuestion::Sample(Batch& batch, const std::vector<Row>& rows) const {
  const bool as_long_as_can_be = batch.rows().longest;
  std::vector<std::int64_t> labels, asked, prompts, prompt_lengths, replies, lengths;
  std::vector<LearnedSpan> learned;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    CheckDrawn(batch.rows().begin + static_cast<std::int64_t>(i), "label of '" + name_ + "'", row.label,
               static_cast<std::int64_t>(replies_.size()));
    const auto label = as_long_as_can_be ? longest_reply_ : static_cast<std::size_t>(row.label);
    const bool is_asked = row.is_asked || as_long_as_can_be;
    const TextTable& table = *replies_[label].table;
    // The reply's wording follows the question's, so that the label alone is left to be learned from the
    // picture.
    const std::int64_t reply = as_long_as_can_be ? table.longest_row() : row.prompt % table.rows();
    labels.push_back(static_cast<std::int64_t>(label));
    asked.push_back(is_asked ? 1 : 0);
    prompts.push_back(row.prompt);
    prompt_lengths.push_back(prompts_.table->Length(row.prompt));
    replies.push_back(offset_[label] + reply);
    lengths.push_back(prompt_lengths.back() + table.Length(reply));
    learned.push_back(is_asked && row.is_learned ? LearnedSpan{prompt_lengths.back(), lengths.back()}
                                                 : LearnedSpan{});
  }
  batch.Add(Column("label"), IntColumn(labels));
  batch.Add(Column("asked"), IntColumn(asked));
  batch.Add(Column("prompt"), IntColumn(prompts));
  batch.Add(Column("prompt_lengths"), IntColumn(prompt_lengths));
  batch.Add(Column("reply"), IntColumn(replies));
  batch.Add(Column("lengths"), IntColumn(lengths));
  AddLearned(batch, Column("learned"), term_, learned);
}

at::Tensor TextQuestion::PromptTokens(PassContext& context) const {
  const at::Tensor table = context.Constant(prompts_.name).narrow(1, 0, prompts_.table->longest());
  return table.index_select(0, context.batch().Column(Column("prompt")));
}

TextPart TextQuestion::Part(PassContext& context, std::int64_t width) const {
  const Batch& batch = context.batch();
  std::vector<at::Tensor> tables;
  for (const NamedTable& replies : replies_) tables.push_back(context.Constant(replies.name));
  const at::Tensor replies = at::cat(tables).index_select(0, batch.Column(Column("reply")));
  return {.term = term_,
          .tokens = JoinTokens(PromptTokens(context), batch.Column(Column("prompt_lengths")), replies, width,
                               tokenizer_.pad()),
          .lengths = batch.Column(Column("lengths")),
          .learned = &batch.Ragged(Column("learned"))};
}

ModelInputs TextQuestion::LearnedInputs(ModelInputs inputs, PassContext& context) const {
  const TextPart part = Part(context, width_);
  inputs.push_back({.name = "tokens", .tensor = part.tokens, .key = ""});
  inputs.push_back({.name = "lengths", .tensor = part.lengths, .key = ""});
  inputs.push_back({.name = "supervised", .tensor = FlatPositions(*part.learned, width_), .key = ""});
  return inputs;
}

ModelInputs TextQuestion::PromptInputs(ModelInputs inputs, PassContext& context) const {
  inputs.push_back({.name = "tokens", .tensor = PromptTokens(context), .key = ""});
  inputs.push_back(
      {.name = "lengths", .tensor = context.batch().Column(Column("prompt_lengths")), .key = ""});
  return inputs;
}

// Without its eos.
std::string TextQuestion::ReplyText(std::size_t label, std::int64_t row) const {
  std::vector<std::int64_t> ids = replies_[label].table->Ids(row);
  ids.pop_back();
  return tokenizer_.Decode(ids);
}

// Both sides are decoded: a vocabulary need not give back a text as it was.
bool TextQuestion::IsRight(std::size_t label, const std::string& reply) const {
  for (std::int64_t row = 0; row < replies_[label].table->rows(); ++row) {
    if (ReplyText(label, row) == reply) return true;
  }
  return false;
}

void TextQuestion::Judge(ModelInputs pictures, EvalPass& piece, Judged& judged, Sheet& sheet) const {
  const Generated generated = piece.Generate(PromptInputs(std::move(pictures), piece),
                                             {.max_new_tokens = width_ - prompts_.table->longest()});
  const auto column = [&](std::string_view what) { return HostValues(piece.batch().Column(Column(what))); };
  const auto labels = column("label"), asked = column("asked"), prompts = column("prompt"),
             replies = column("reply");
  for (std::size_t i = 0; i < generated.tokens.size(); ++i) {
    const std::size_t row = judged.labels.size();
    judged.labels.push_back(asked[i] != 0 ? labels[i] : -1);
    judged.right.push_back(0);
    if (asked[i] == 0) continue;
    const auto label = static_cast<std::size_t>(labels[i]);
    const std::string reply = tokenizer_.Decode(generated.tokens[i]);
    const bool is_right = IsRight(label, reply);
    judged.right.back() = is_right ? 1 : 0;
    if (!Sheet::Shows(row)) continue;
    sheet.Add(row, {.question = tokenizer_.Decode(prompts_.table->Ids(prompts[i])),
                    .reply = reply,
                    .right = ReplyText(label, replies[i] - offset_[label]),
                    .is_right = is_right});
  }
}

}  // namespace medley
