#pragma once

#include <array>
#include <bitset>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <medley/task/drivers/control_pass.h>
#include <medley/task/drivers/picture_bytes.h>
#include <medley/task/drivers/row.h>
#include <medley/task/drivers/text_list.h>
#include <medley/task/drivers/text_question.h>
#include <medley/task/task.h>
#include <medley/task/text_rows.h>

namespace medley {

inline constexpr std::size_t kMostQuestions = 7;
using ReplyNames = SpecList<std::string_view, 16>;

// A question about a picture. Its name is that of its pass and of its term; lists of texts are named, so that
// questions may share them.
struct Question {
  std::string_view name;
  std::string_view prompts;
  ReplyNames replies;  // by label: lists of replies, 16 at most
};

// The right label of every question of a row.
struct QuestionLabels {
  std::array<int, kMostQuestions> labels{};
  // Questions that this row neither learns nor is judged by: where labels of several questions hang together,
  // so that each question's labels are balanced over the rows that it is asked in.
  std::bitset<kMostQuestions> unasked{};
};

struct QuestionSetting {
  bool control = false;             // a control pass comes first
  int text_width = kQuestionWidth;  // the most tokens of a prompt and its reply
  OptionList options{};
};

// Variant "fused", where there are several passes: one forward in which row r makes pass r mod passes. Chance
// is what the best reply gets that is the same for every row (4/9 for relposition_qa), where labels are
// balanced; guessing gets no more.
template <std::size_t T, std::size_t Q>
constexpr TaskSpec QuestionSpec(std::string_view name, std::string_view summary,
                                const std::array<TextList, T>& lists,
                                const std::array<Question, Q>& questions,
                                const QuestionSetting& setting = {}) {
  static_assert(Q <= kMostQuestions, "medley: a task may ask 7 questions at most");
  TaskSpec spec{.name = name,
                .summary = summary,
                .options = setting.options,
                .inputs = {"images", "tokens", "lengths", "supervised"},
                .outputs = {"losses"},
                .special_tokens = {"<pad>", "<eos>"},
                .score = {.name = "accuracy", .chance = 0, .low = 0, .high = 1, .chance_of_any_rows = true}};
  if (setting.control) {
    spec.passes.Add(ControlPassSpec(/*decodes_image=*/false));
    spec.terms.Add(ControlTextTerm());
  }
  for (const Question& question : questions) {
    spec.passes.Add({.name = question.name, .text_width = setting.text_width, .images = {"image"}});
    spec.terms.Add({.name = question.name, .max_items = ReplyWidth(lists, question.replies)});
    *spec.score.chance += 1.0 / static_cast<double>(question.replies.size() * Q);
    while (!question.replies.fits() && spec.terms.fits())
      spec.terms.Add({});  // the compiler says it of the spec
  }
  for (const TextList& list : lists) spec.constants.Add(list.Spec());
  const int width = setting.control ? std::max(setting.text_width, kControlWidth) : setting.text_width;
  if (spec.passes.size() > 1) {
    spec.variants = {{.name = "fused",
                      .passes = {{.name = "fused", .text_width = width, .images = {"image"}}},
                      .terms = spec.terms,
                      .summary = "one forward: each row makes one of the passes, in turn"}};
  }
  return spec;
}

// Questions about one picture, each its own pass. What is left to a task is one row.
class QuestionTask : public Task {
 public:
  Batch Sample(const RowRange& rows) const final;
  Sums Run(std::string_view pass, PassContext& context) const final;
  // A row's score is the share of the questions that it is asked whose greedy reply is a text of the right
  // label's list.
  Outcomes Evaluate(EvalContext& context, const RowRange& rows) const final;
  at::Tensor Constant(std::string_view name) const final;
  std::vector<std::string> ShownTexts() const { return TextsOf(lists_); }

 protected:
  // `spec`: the class's own, as QuestionSpec makes it of the others; all outlive the task.
  QuestionTask(const TaskContext& context, const TaskSpec& spec, std::span<const TextList> lists,
               std::span<const Question> questions);

 private:
  // Draws the picture of a row and says which labels are right. A function of what `row` holds; called on
  // data threads.
  virtual QuestionLabels Draw(Row& row, PictureBytes picture) const = 0;

  NamedTable Find(std::string_view list) const;
  // `kinds`: the pass of each row where it makes one only, else empty.
  void SampleTexts(const std::vector<QuestionLabels>& drawn, std::size_t index,
                   const std::vector<std::int64_t>& kinds, Batch& batch) const;
  Sums RunFused(PassContext& context) const;
  std::int64_t PassOf(std::size_t question) const {
    return static_cast<std::int64_t>(question) + (control_ ? 1 : 0);
  }

  std::int64_t pad_, size_;
  std::int64_t fused_width_ = 0;  // of a forward in which rows make different passes; 0: they do not
  std::span<const TextList> lists_;
  std::optional<ControlPass> control_;
  std::map<std::string, TextTable, std::less<>> tables_;
  std::vector<TextQuestion> asked_;
};

}  // namespace medley
