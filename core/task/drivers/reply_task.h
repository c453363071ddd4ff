#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <medley/task/drivers/row.h>
#include <medley/task/file_texts.h>
#include <medley/task/task.h>

namespace medley {

// Widths are in tokens.
struct ReplySetting {
  int text_width = 32;             // the most of a row: prompt, reply and its eos
  int reply_width = 8;             // the most of a reply, with its eos
  std::optional<double> chance{};  // of rows that the task makes up: see ScoreSpec
  bool rows_repeat = false;        // see TaskSpec
  OptionList options{};
  NameList special_tokens = {"<pad>", "<eos>"};
};

constexpr TaskSpec ReplySpec(std::string_view name, std::string_view summary,
                             const ReplySetting& setting = {}) {
  return {.name = name,
          .summary = summary,
          .passes = {{.name = "reply", .text_width = setting.text_width}},
          .terms = {{.name = "reply", .max_items = setting.reply_width}},
          .options = WithSpecialTokens(setting.options),
          .inputs = {"tokens", "lengths", "supervised"},
          .outputs = {"losses"},
          .special_tokens = setting.special_tokens,
          .score = {.name = "accuracy", .chance = setting.chance, .low = 0, .high = 1},
          .rows_repeat = setting.rows_repeat};
}

// What is asked, and the reply that is right. Words of the two are cut into tokens apart: a blank between
// them belongs to the prompt's end or to the reply's begin.
struct Exchange {
  std::string prompt, reply;
};

// A reply in words to a prompt in words. What is left to a task is one row. The reply and its eos are
// learned; a row's score is 1 where the model's greedy reply is the right one, word for word. Words of a
// task that is given a file, names its items or reads a record for a row are FileTexts; in others, that are
// made up, names of special tokens are these.
class ReplyTask : public Task {
 public:
  Batch Sample(const RowRange& rows) const final;
  Sums Run(std::string_view pass, PassContext& context) const final;
  Outcomes Evaluate(EvalContext& context, const RowRange& rows) const final;
  // The texts of some thousand rows of training.
  std::vector<std::string> ShownTexts() const;

 protected:
  // `spec`: the class's own, as ReplySpec makes it.
  ReplyTask(const TaskContext& context, const TaskSpec& spec);

 private:
  // The row, a function of what `row` holds; called on data threads. An InputError of Sample names a row
  // whose words do not fit.
  virtual Exchange Draw(Row& row) const = 0;

  struct Tokens {
    std::vector<std::int64_t> prompt, reply;
  };
  Tokens TokensOf(Row& row) const;

  const Tokenizer& tokenizer_;
  FileTexts texts_;
  bool has_file_;
  std::size_t width_, reply_width_;
};

}  // namespace medley
