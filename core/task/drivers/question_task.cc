#include <medley/task/drivers/question_task.h>

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <utility>

#include <medley/data/item_stream.h>
#include <medley/task/drivers/judge_pictures.h>
#include <medley/task/drivers/labels.h>
#include <medley/task/drivers/mixed_pass.h>
#include <medley/task/drivers/sheet.h>
#include <medley/task/drivers/streams.h>
#include <medley/task/losses.h>

namespace medley {
namespace {

// 1 and 0, NaN in a row that is not asked.
std::vector<double> RightWhereAsked(const Judged& judged) {
  std::vector<double> right;
  for (std::size_t row = 0; row < judged.right.size(); ++row) {
    right.push_back(judged.labels[row] >= 0 ? judged.right[row] : kNotCounted);
  }
  return right;
}

// Of each question how often training's first items have each label; `draw`: those of a row. None where rows
// are no items.
template <typename Draw>
std::vector<std::vector<std::int64_t>> TrainedLabels(const ItemStream* items, std::size_t questions,
                                                     const Draw& draw) {
  constexpr std::int64_t kMostDrawn = 1024;  // each draws a picture
  std::vector<std::vector<std::int64_t>> times(questions);
  if (items == nullptr) return times;
  ForEachRow({.count = std::min(kMostDrawn, items->size(Split::kTraining))}, [&](Row& row) {
    const QuestionLabels drawn = draw(row);
    for (std::size_t q = 0; q < questions; ++q) {
      const auto label = static_cast<std::size_t>(drawn.labels[q]);
      if (drawn.unasked[q] || label >= ReplyNames::kMost) continue;  // Sample tells of wrong ones
      times[q].resize(std::max(times[q].size(), label + 1));
      ++times[q][label];
    }
  });
  return times;
}

void CheckReplies(std::span<const TextList> lists, std::string_view name) {
  for (const TextList& list : lists) {
    if (list.name == name && !list.reply)
      throw Error("the list of texts '" + std::string(name) +
                  "' is a question's replies, and no reply of it ends: set its `reply` to true");
  }
}

}  // namespace

QuestionTask::QuestionTask(const TaskContext& context, const TaskSpec& spec, std::span<const TextList> lists,
                           std::span<const Question> questions)
    : pad_(context.tokenizer().pad()), size_(context.image().size), lists_(lists) {
  if (context.variant == "fused") fused_width_ = spec.variants[0].passes[0].text_width;
  if (spec.passes.size() > questions.size()) control_.emplace(context);
  for (const TextList& list : lists)
    tables_.emplace(std::string(list.name), TableOf(context.tokenizer(), list));
  for (const Question& question : questions) {
    std::vector<NamedTable> replies;
    for (const std::string_view name : question.replies) {
      replies.push_back(Find(name));
      CheckReplies(lists, name);
    }
    asked_.emplace_back(context.tokenizer(), question.name, question.name, Find(question.prompts),
                        std::move(replies), spec.passes[spec.passes.size() - 1].text_width);
  }
}

NamedTable QuestionTask::Find(std::string_view list) const {
  const auto found = tables_.find(list);
  if (found == tables_.end()) throw Error("the task has no list of texts '" + std::string(list) + "'");
  return {found->first, &found->second};
}

Batch QuestionTask::Sample(const RowRange& rows) const {
  PictureColumn pictures(rows.count, size_);
  std::vector<QuestionLabels> drawn;
  ForEachRow(rows, [&](Row& row) { drawn.push_back(Draw(row, pictures[row.index()])); });
  Batch batch(rows);
  batch.Add("image", pictures.tensor());
  std::vector<std::int64_t> kinds;
  if (fused_width_ > 0) kinds = FusedKinds(rows, PassOf(asked_.size()));
  for (std::size_t q = 0; q < asked_.size(); ++q) SampleTexts(drawn, q, kinds, batch);
  const std::vector<bool> control = OfKind(kinds, 0);
  if (control_) control_->Sample(batch, /*decodes_image=*/false, fused_width_ > 0 ? &control : nullptr);
  if (fused_width_ > 0) batch.Add("kind", IntColumn(kinds));
  return batch;
}

void QuestionTask::SampleTexts(const std::vector<QuestionLabels>& drawn, std::size_t index,
                               const std::vector<std::int64_t>& kinds, Batch& batch) const {
  const RowRange& rows = batch.rows();
  std::vector<TextQuestion::Row> texts;
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    RowRandom random =
        rows.Random(rows.begin + static_cast<std::int64_t>(i), CombineSeeds(kTextStream, index));
    texts.push_back({.label = drawn[i].labels[index],
                     .prompt = asked_[index].DrawPrompt(rows, random),
                     .is_asked = !drawn[i].unasked[index],
                     .is_learned = kinds.empty() || kinds[i] == PassOf(index)});
  }
  asked_[index].Sample(batch, texts);
}

Sums QuestionTask::Run(std::string_view pass, PassContext& context) const {
  if (pass == "fused") return RunFused(context);
  if (control_ && pass == "control") return control_->Run(context, /*decodes_image=*/false);
  const auto asked = std::ranges::find(asked_, pass, &TextQuestion::name);
  if (asked == asked_.end()) throw Error("the task has no pass '" + std::string(pass) + "'");
  const ModelOutputs outputs =
      context.Forward(asked->LearnedInputs({context.Image("image")}, context), {"losses"});
  return {{asked->name(), SumLosses(outputs.at("losses"))}};
}

Sums QuestionTask::RunFused(PassContext& context) const {
  std::vector<TextPart> parts;
  if (control_) parts.push_back(control_->Part(context.batch()));
  for (const TextQuestion& asked : asked_) parts.push_back(asked.Part(context, fused_width_));
  const ModelInputs inputs =
      MixedInputs({context.Image("image")}, parts, context.batch().Column("kind"), fused_width_, pad_);
  return MixedCrossEntropy(parts, context.Forward(inputs, {"losses"}));
}

Outcomes QuestionTask::Evaluate(EvalContext& context, const RowRange& rows) const {
  std::vector<Judged> judged(asked_.size());
  Sheet sheet;
  context.ForEachPiece(rows, [&](EvalPass& piece) {
    for (std::size_t q = 0; q < asked_.size(); ++q) {
      asked_[q].Judge({piece.Image("image")}, piece, judged[q], sheet);
    }
    sheet.Add(piece.Pixels("image"));
  });
  PictureColumn unseen(1, size_);
  const auto trained = TrainedLabels(Items(), asked_.size(), [&](Row& row) { return Draw(row, unseen[0]); });
  std::vector<std::vector<double>> right, one_reply;
  for (std::size_t q = 0; q < judged.size(); ++q) {
    right.push_back(judged[q].right);
    one_reply.push_back(MostFrequentIsRight(judged[q].labels, trained[q]));
  }
  const auto share_of_asked = [&](const std::vector<std::vector<double>>& found) {
    std::vector<double> shares;
    for (std::size_t row = 0; row < static_cast<std::size_t>(rows.count); ++row) {
      double sum = 0, asked = 0;
      for (std::size_t q = 0; q < judged.size(); ++q) {
        if (judged[q].labels[row] >= 0) sum += found[q][row], ++asked;
      }
      shares.push_back(sum / asked);
    }
    return shares;
  };
  Outcomes outcomes{.score = share_of_asked(right),
                    .trivial = {{"most frequent reply", share_of_asked(one_reply)}}};
  if (asked_.size() > 1) {
    for (std::size_t q = 0; q < asked_.size(); ++q) {
      outcomes.Share(asked_[q].name()) = RightWhereAsked(judged[q]);
    }
  }
  sheet.MoveTo(outcomes);
  return outcomes;
}

at::Tensor QuestionTask::Constant(std::string_view name) const { return Find(name).table->Tokens(); }

}  // namespace medley
