#pragma once

#include <array>
#include <bitset>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <medley/task/task.h>
#include <medley/task/text_rows.h>

#include "tasks/drivers/control_pass.h"
#include "tasks/drivers/tables.h"
#include "tasks/drivers/text_question.h"
#include "tasks/world/render.h"

namespace medley::tasks {

inline constexpr std::size_t kMostQuestions = 7;
using ReplyNames = SpecList<std::string_view, 4>;

// A question about a picture. Its name is that of its pass and of its term; tables are named, so that
// questions may share them.
struct Question {
  std::string_view name;
  std::string_view prompts;
  ReplyNames replies;  // by label
};

// A row: a picture and the right label of every question.
struct QuestionExample {
  world::Scene scene;
  std::array<int, kMostQuestions> labels{};
  // Questions that this row neither learns nor is judged by: where labels of several questions hang together,
  // so that each question's labels are balanced over the rows that it is asked in.
  std::bitset<kMostQuestions> unasked{};
};

// Variant "fused": one forward in which row r makes pass r mod (1 + questions). Chance is what the best reply
// gets that is the same for every row (4/9 for relposition_qa), where labels are balanced; guessing gets no
// more.
template <std::size_t T, std::size_t Q>
constexpr TaskSpec QuestionSpec(std::string_view name, std::string_view summary,
                                const std::array<Table, T>& tables,
                                const std::array<Question, Q>& questions) {
  static_assert(Q <= kMostQuestions);
  double chance = 0;
  for (const Question& question : questions) chance += 1.0 / static_cast<double>(question.replies.size() * Q);
  TaskSpec spec{.name = name,
                .summary = summary,
                .inputs = {"images", "tokens", "lengths", "supervised"},
                .outputs = {"logits", "targets"},
                .special_tokens = {"<pad>", "<eos>"},
                .score = {.name = "accuracy", .higher_is_better = true, .chance = chance}};
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    spec.passes = {ControlPassSpec(/*decodes_image=*/false),
                   PassSpec{.name = questions[I].name, .text_width = kQuestionWidth, .images = {"image"}}...};
    spec.terms = {ControlTextTerm(),
                  TermSpec{.name = questions[I].name, .weight = 1, .max_items = kReplyWidth}...};
  }
  (std::make_index_sequence<Q>());
  [&]<std::size_t... I>(std::index_sequence<I...>) { spec.constants = {tables[I].Spec()...}; }
  (std::make_index_sequence<T>());
  spec.variants = {{.name = "fused",
                    .passes = {{.name = "fused", .text_width = kMixedWidth, .images = {"image"}}},
                    .terms = spec.terms}};
  return spec;
}

// Questions about one picture, each its own pass beside the control pass. What is left to a task is one row.
class QuestionTask : public Task {
 public:
  Batch Sample(const RowRange& rows) const final;
  Sums Run(std::string_view pass, PassContext& context) const final;
  // A row's score is the share of the questions that it is asked whose greedy reply is a text of the right
  // label's table.
  Outcomes Evaluate(EvalContext& context, const RowRange& rows) const final;
  at::Tensor Constant(std::string_view name) const final;

 protected:
  QuestionTask(const TaskContext& context, std::span<const Table> tables,
               std::span<const Question> questions);

 private:
  // Row `row` of the stream, a function of the random numbers; called on data threads.
  virtual QuestionExample Draw(std::int64_t row, RowRandom& random) const = 0;

  NamedTable Find(std::string_view table) const;
  // `kinds`: the pass of each row where it makes one only, else empty.
  void SampleTexts(const std::vector<QuestionExample>& examples, std::size_t index,
                   const std::vector<std::int64_t>& kinds, Batch& batch) const;
  Sums RunFused(PassContext& context) const;

  std::int64_t pad_;
  bool is_fused_;
  int size_;
  ControlPass control_;
  std::map<std::string, TextTable, std::less<>> tables_;
  std::vector<TextQuestion> asked_;
};

}  // namespace medley::tasks
