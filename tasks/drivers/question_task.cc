#include "tasks/drivers/question_task.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>

#include <algorithm>

#include <medley/task/losses.h>

#include "tasks/drivers/labels.h"
#include "tasks/drivers/mixed_pass.h"
#include "tasks/drivers/pictures.h"
#include "tasks/drivers/streams.h"

namespace medley::tasks {

QuestionTask::QuestionTask(const TaskContext& context, std::span<const Table> tables,
                           std::span<const Question> questions)
    : tokenizer_(context.tokenizer),
      is_fused_(context.variant == "fused"),
      size_(ImageSize(context)),
      control_(context) {
  for (const Table& table : tables) {
    tables_.emplace(std::string(table.name),
                    TextTable(tokenizer_, table.name, table.texts, table.reply ? kReplyWidth : kPromptWidth,
                              table.reply ? TextEnd::kEos : TextEnd::kOpen));
  }
  for (const Question& question : questions) asked_.push_back(MakeAsked(question));
}

QuestionTask::Entry QuestionTask::Find(std::string_view table) const {
  const auto found = tables_.find(table);
  if (found == tables_.end()) throw Error("the task has no table '" + std::string(table) + "'");
  return {found->first, &found->second};
}

QuestionTask::Asked QuestionTask::MakeAsked(const Question& question) const {
  Asked asked{
      .name = std::string(question.name), .prompts = Find(question.prompts), .replies = {}, .offset = {}};
  std::int64_t replies = 0, longest = 0;
  for (const std::string_view name : question.replies) {
    asked.replies.push_back(Find(name));
    asked.offset.push_back(replies);
    replies += asked.replies.back().table->rows();
    if (asked.replies.back().table->longest() > longest) asked.longest_reply = asked.replies.size() - 1;
    longest = std::max(longest, asked.replies.back().table->longest());
  }
  asked.width = asked.prompts.table->longest() + longest;
  CheckQuestionWidth(question.name, asked.width);
  return asked;
}

Batch QuestionTask::Sample(const RowRange& rows) const {
  std::vector<world::Scene> scenes;
  std::vector<QuestionExample> examples;
  for (std::int64_t row = rows.begin; row < rows.begin + rows.count; ++row) {
    RowRandom random = rows.Random(row, kSceneStream);
    examples.push_back(Draw(row, random));
    scenes.push_back(examples.back().scene);
  }
  Batch batch(rows);
  batch.Add("image", RenderScenes(scenes, size_));
  std::vector<std::int64_t> kinds;
  if (is_fused_) kinds = FusedKinds(rows, static_cast<std::int64_t>(1 + asked_.size()));
  for (std::size_t q = 0; q < asked_.size(); ++q) SampleTexts(examples, q, kinds, batch);
  const std::vector<bool> control = OfKind(kinds, 0);
  control_.Sample(batch, /*decodes_image=*/false, is_fused_ ? &control : nullptr);
  if (is_fused_) batch.Add("kind", IntColumn(kinds));
  return batch;
}

void QuestionTask::SampleTexts(const std::vector<QuestionExample>& examples, std::size_t index,
                               const std::vector<std::int64_t>& kinds, Batch& batch) const {
  const Asked& asked = asked_[index];
  const RowRange& rows = batch.rows();
  std::vector<std::int64_t> labels, asked_here, prompts, prompt_lengths, replies, lengths;
  std::vector<LearnedSpan> learned;
  for (std::int64_t i = 0; i < rows.count; ++i) {
    RowRandom random = rows.Random(rows.begin + i, CombineSeeds(kTextStream, index));
    const QuestionExample& example = examples[static_cast<std::size_t>(i)];
    const auto label = rows.longest ? asked.longest_reply : static_cast<std::size_t>(example.labels[index]);
    const bool unasked = example.unasked[index] && !rows.longest;
    const TextTable& table = *asked.replies[label].table;
    const std::int64_t prompt = asked.prompts.table->Draw(rows, random);
    // The reply's wording follows the question's, so that the label alone is left to be learned from the
    // picture.
    const std::int64_t reply = rows.longest ? table.longest_row() : prompt % table.rows();
    labels.push_back(static_cast<std::int64_t>(label));
    prompts.push_back(prompt);
    prompt_lengths.push_back(asked.prompts.table->Length(prompt));
    replies.push_back(asked.offset[label] + reply);
    lengths.push_back(prompt_lengths.back() + table.Length(reply));
    asked_here.push_back(unasked ? 0 : 1);
    const bool other_pass =
        !kinds.empty() && kinds[static_cast<std::size_t>(i)] != static_cast<std::int64_t>(1 + index);
    learned.push_back(unasked || other_pass ? LearnedSpan{}
                                            : LearnedSpan{prompt_lengths.back(), lengths.back()});
  }
  batch.Add(asked.Column("label"), IntColumn(labels));
  batch.Add(asked.Column("asked"), IntColumn(asked_here));
  batch.Add(asked.Column("prompt"), IntColumn(prompts));
  batch.Add(asked.Column("prompt_lengths"), IntColumn(prompt_lengths));
  batch.Add(asked.Column("reply"), IntColumn(replies));
  batch.Add(asked.Column("lengths"), IntColumn(lengths));
  AddLearned(batch, asked.Column("learned"), asked.name, learned);
}

at::Tensor QuestionTask::PromptTokens(const Asked& asked, PassContext& context) const {
  const at::Tensor table = context.Constant(asked.prompts.name).narrow(1, 0, asked.prompts.table->longest());
  return table.index_select(0, context.batch().Column(asked.Column("prompt")));
}

ModelInputs QuestionTask::PromptInputs(const Asked& asked, PassContext& context) const {
  return {context.Image("image"),
          {.name = "tokens", .tensor = PromptTokens(asked, context), .key = ""},
          {.name = "lengths", .tensor = context.batch().Column(asked.Column("prompt_lengths")), .key = ""}};
}

// Prompt, reply and eos of every row.
TextPart QuestionTask::Part(const Asked& asked, PassContext& context, std::int64_t width) const {
  const Batch& batch = context.batch();
  std::vector<at::Tensor> tables;
  for (const Entry& entry : asked.replies) tables.push_back(context.Constant(entry.name));
  const at::Tensor replies = at::cat(tables).index_select(0, batch.Column(asked.Column("reply")));
  return {.term = asked.name,
          .tokens = JoinTokens(PromptTokens(asked, context), batch.Column(asked.Column("prompt_lengths")),
                               replies, width, tokenizer_.pad()),
          .lengths = batch.Column(asked.Column("lengths")),
          .learned = &batch.Ragged(asked.Column("learned"))};
}

Sums QuestionTask::Run(std::string_view pass, PassContext& context) const {
  if (pass == "control") return control_.Run(context, /*decodes_image=*/false);
  if (pass == "fused") return RunFused(context);
  const auto asked =
      std::find_if(asked_.begin(), asked_.end(), [&](const Asked& a) { return a.name == pass; });
  if (asked == asked_.end()) throw Error("the task has no pass '" + std::string(pass) + "'");

  const TextPart part = Part(*asked, context, asked->width);
  const ModelOutputs outputs = context.Forward(
      {context.Image("image"),
       {.name = "tokens", .tensor = part.tokens, .key = ""},
       {.name = "lengths", .tensor = part.lengths, .key = ""},
       {.name = "supervised", .tensor = FlatPositions(*part.learned, asked->width), .key = ""}},
      {"logits", "targets"});
  return {{asked->name, SumCrossEntropy(outputs.at("logits"), outputs.at("targets"))}};
}

Sums QuestionTask::RunFused(PassContext& context) const {
  std::vector<TextPart> parts{control_.Part(context.batch())};
  for (const Asked& asked : asked_) parts.push_back(Part(asked, context, kMixedWidth));
  const ModelInputs inputs =
      MixedInputs({context.Image("image")}, parts, context.batch().Column("kind"), tokenizer_.pad());
  return MixedCrossEntropy(parts, context.Forward(inputs, {"logits", "targets"}));
}

bool QuestionTask::IsRight(const Asked& asked, std::int64_t label,
                           const std::vector<std::int64_t>& reply) const {
  const TextTable& table = *asked.replies[static_cast<std::size_t>(label)].table;
  const std::string text = tokenizer_.Decode(reply);
  for (std::int64_t row = 0; row < table.rows(); ++row) {
    std::vector<std::int64_t> right = table.Ids(row);
    right.pop_back();  // eos
    if (tokenizer_.Decode(right) == text) return true;
  }
  return false;
}

// Adds the label of every row to `labels`, -1 where it is not asked, and to `right` whether its reply was.
void QuestionTask::Judge(const Asked& asked, EvalPass& piece, std::vector<std::int64_t>& labels,
                         std::vector<double>& right) const {
  const Generated generated = piece.Generate(
      PromptInputs(asked, piece), {.max_new_tokens = asked.width - asked.prompts.table->longest()});
  const at::Tensor label = piece.batch().Column(asked.Column("label")).to(at::kCPU);
  const at::Tensor is_asked = piece.batch().Column(asked.Column("asked")).to(at::kCPU);
  for (std::size_t row = 0; row < generated.tokens.size(); ++row) {
    const bool asks = is_asked.const_data_ptr<std::int64_t>()[row] != 0;
    labels.push_back(asks ? label.const_data_ptr<std::int64_t>()[row] : -1);
    right.push_back(asks && IsRight(asked, labels.back(), generated.tokens[row]) ? 1 : 0);
  }
}

Outcomes QuestionTask::Evaluate(EvalContext& context, const RowRange& rows) const {
  const std::size_t questions = asked_.size();
  std::vector<std::vector<std::int64_t>> labels(questions);
  std::vector<std::vector<double>> right(questions), one_reply;
  context.ForEachPiece(rows, [&](EvalPass& piece) {
    for (std::size_t q = 0; q < questions; ++q) Judge(asked_[q], piece, labels[q], right[q]);
  });
  for (const auto& of_question : labels) one_reply.push_back(MostFrequentIsRight(of_question));
  const auto share_of_asked = [&](const std::vector<std::vector<double>>& found) {
    std::vector<double> shares;
    for (std::size_t row = 0; row < static_cast<std::size_t>(rows.count); ++row) {
      double sum = 0, asked = 0;
      for (std::size_t q = 0; q < questions; ++q) {
        if (labels[q][row] >= 0) sum += found[q][row], ++asked;
      }
      shares.push_back(sum / asked);
    }
    return shares;
  };
  return {.score = share_of_asked(right), .trivial = {{"most frequent reply", share_of_asked(one_reply)}}};
}

at::Tensor QuestionTask::Constant(std::string_view name) const { return Find(name).table->Tokens(); }

}  // namespace medley::tasks
