#include "tasks/drivers/question_task.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>

#include <algorithm>

#include <medley/task/losses.h>

#include "tasks/drivers/pictures.h"
#include "tasks/drivers/streams.h"

namespace medley::tasks {

QuestionTask::QuestionTask(const TaskContext& context, std::span<const Table> tables,
                           std::span<const Question> questions)
    : tokenizer_(context.tokenizer), size_(ImageSize(context)), control_(context) {
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
  Asked asked{.name = std::string(question.name), .prompts = Find(question.prompts), .replies = {}, .offset = {}};
  std::int64_t replies = 0, longest = 0;
  for (const std::string_view name : question.replies) {
    asked.replies.push_back(Find(name));
    asked.offset.push_back(replies);
    replies += asked.replies.back().table->rows();
    longest = std::max(longest, asked.replies.back().table->longest());
  }
  asked.width = asked.prompts.table->longest() + longest;
  if (asked.width > kQuestionWidth) {
    throw InputError("question '" + asked.name + "': its longest prompt and reply have " + std::to_string(asked.width) +
                     " tokens together, a row has " + std::to_string(kQuestionWidth) +
                     ". Train the vocabulary on the task's texts (medley tokenizer train)");
  }
  return asked;
}

Batch QuestionTask::Sample(const RowRange& rows) const {
  std::vector<world::Scene> scenes;
  std::vector<std::vector<std::int64_t>> labels(asked_.size());
  for (std::int64_t row = rows.begin; row < rows.begin + rows.count; ++row) {
    RowRandom random = rows.Random(row, kSceneStream);
    const QuestionExample example = Draw(row, random);
    scenes.push_back(example.scene);
    for (std::size_t q = 0; q < asked_.size(); ++q) labels[q].push_back(example.labels[q]);
  }
  Batch batch(rows);
  batch.Add("image", RenderScenes(scenes, size_));
  for (std::size_t q = 0; q < asked_.size(); ++q) SampleTexts(asked_[q], labels[q], q, batch);
  control_.Sample(batch, /*decodes_image=*/false);
  return batch;
}

void QuestionTask::SampleTexts(const Asked& asked, const std::vector<std::int64_t>& labels, std::size_t index,
                               Batch& batch) const {
  const RowRange& rows = batch.rows();
  std::vector<std::int64_t> prompts, prompt_lengths, replies, lengths;
  std::vector<LearnedSpan> learned;
  for (std::int64_t i = 0; i < rows.count; ++i) {
    RowRandom random = rows.Random(rows.begin + i, CombineSeeds(kTextStream, index));
    const auto label = static_cast<std::size_t>(labels[static_cast<std::size_t>(i)]);
    const TextTable& table = *asked.replies[label].table;
    const std::int64_t prompt = random.Below(asked.prompts.table->rows());
    const std::int64_t reply = random.Below(table.rows());
    prompts.push_back(prompt);
    prompt_lengths.push_back(asked.prompts.table->Length(prompt));
    replies.push_back(asked.offset[label] + reply);
    lengths.push_back(prompt_lengths.back() + table.Length(reply));
    learned.push_back({prompt_lengths.back(), lengths.back()});
  }
  batch.Add(asked.Column("label"), IntColumn(labels));
  batch.Add(asked.Column("prompt"), IntColumn(prompts));
  batch.Add(asked.Column("prompt_lengths"), IntColumn(prompt_lengths));
  batch.Add(asked.Column("reply"), IntColumn(replies));
  batch.Add(asked.Column("lengths"), IntColumn(lengths));
  AddLearned(batch, asked.Column("learned"), asked.name, learned);
}

ModelInputs QuestionTask::PromptInputs(const Asked& asked, PassContext& context) const {
  const Batch& batch = context.batch();
  const at::Tensor prompts = context.Constant(asked.prompts.name).narrow(1, 0, asked.prompts.table->longest());
  return {context.Image("image"),
          {.name = "tokens", .tensor = prompts.index_select(0, batch.Column(asked.Column("prompt"))), .key = ""},
          {.name = "lengths", .tensor = batch.Column(asked.Column("prompt_lengths")), .key = ""}};
}

Sums QuestionTask::Run(std::string_view pass, PassContext& context) const {
  if (pass == "control") return control_.Run(context, /*decodes_image=*/false);
  const auto asked = std::find_if(asked_.begin(), asked_.end(), [&](const Asked& a) { return a.name == pass; });
  if (asked == asked_.end()) throw Error("the task has no pass '" + std::string(pass) + "'");

  const Batch& batch = context.batch();
  ModelInputs inputs = PromptInputs(*asked, context);
  std::vector<at::Tensor> tables;
  for (const Entry& entry : asked->replies) tables.push_back(context.Constant(entry.name));
  const at::Tensor replies = at::cat(tables).index_select(0, batch.Column(asked->Column("reply")));
  at::Tensor& tokens = inputs[1].tensor;
  at::Tensor& lengths = inputs[2].tensor;
  tokens = JoinTokens(tokens, lengths, replies, asked->width, tokenizer_.pad());
  lengths = batch.Column(asked->Column("lengths"));
  inputs.push_back({.name = "supervised",
                    .tensor = FlatPositions(batch.Ragged(asked->Column("learned")), asked->width),
                    .key = ""});
  const ModelOutputs outputs = context.Forward(inputs, {"logits"});
  return {{asked->name, SumCrossEntropy(outputs.at("logits"), outputs.at("targets"))}};
}

bool QuestionTask::IsRight(const Asked& asked, std::int64_t label, const std::vector<std::int64_t>& reply) const {
  const TextTable& table = *asked.replies[static_cast<std::size_t>(label)].table;
  const std::string text = tokenizer_.Decode(reply);
  for (std::int64_t row = 0; row < table.rows(); ++row) {
    std::vector<std::int64_t> right = table.Ids(row);
    right.pop_back();  // eos
    if (tokenizer_.Decode(right) == text) return true;
  }
  return false;
}

Outcomes QuestionTask::Evaluate(EvalContext& context, const RowRange& rows) const {
  Outcomes outcomes;
  SheetColumn sheet;
  context.ForEachPiece(rows, [&](EvalPass& piece) {
    std::vector<double> right(static_cast<std::size_t>(piece.batch().size()), 0);
    for (const Asked& asked : asked_) {
      const Generated generated =
          piece.Generate(PromptInputs(asked, piece), {.max_new_tokens = asked.width - asked.prompts.table->longest()});
      const at::Tensor labels = piece.batch().Column(asked.Column("label")).to(at::kCPU);
      for (std::size_t row = 0; row < right.size(); ++row) {
        right[row] += IsRight(asked, labels.const_data_ptr<std::int64_t>()[row], generated.tokens[row]);
      }
    }
    for (const double count : right) outcomes.score.push_back(count / static_cast<double>(asked_.size()));
    sheet.Add(piece.Pixels("image"));
  });
  outcomes.input = sheet.Take();
  return outcomes;
}

at::Tensor QuestionTask::Constant(std::string_view name) const { return Find(name).table->Tokens(); }

}  // namespace medley::tasks
