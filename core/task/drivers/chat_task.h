#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <medley/task/drivers/chat_rows.h>
#include <medley/task/drivers/row.h>
#include <medley/task/drivers/sheet.h>
#include <medley/task/task.h>

namespace medley {

struct ChatSetting {
  int text_width = 256;      // most tokens of a row, where the option does not say
  bool rows_repeat = false;  // see TaskSpec
  OptionList options{};      // beside those of WithChatOptions
};

constexpr TaskSpec ChatSpec(std::string_view name, std::string_view summary,
                            const ChatSetting& setting = {}) {
  return {.name = name,
          .summary = summary,
          .passes = {{.name = "reply", .text_width = setting.text_width, .text_width_of = "text_width"}},
          .terms = {{.name = "reply", .max_items = setting.text_width, .max_items_of = "text_width"}},
          .options = WithChatOptions(setting.options, setting.text_width),
          .inputs = {"tokens", "lengths", "supervised"},
          .outputs = {"losses", "logits"},
          .special_tokens = {"<pad>", "<eos>"},
          .score = {.name = "tokens_right", .low = 0, .high = 1},
          .rows_repeat = setting.rows_repeat};
}

// Conversations in the run's chat format. What is left to a task is one conversation (text/chat_format.h):
// its turns, and which of an assistant's are learned. A row's score is the share of its learned tokens that
// are the likeliest behind the right ones before them; the sheet shows what the model replies in place of the
// last answer that is learned.
class ChatTask : public Task {
 public:
  Batch Sample(const RowRange& rows) const final;
  Sums Run(std::string_view pass, PassContext& context) const final;
  Outcomes Evaluate(EvalContext& context, const RowRange& rows) const final;
  // What is said in some thousand rows of training, and what the chat format puts around it.
  std::vector<std::string> ShownTexts() const;

 protected:
  // Of a class whose spec ChatSpec makes.
  explicit ChatTask(const TaskContext& context);

  const ChatRows& chat() const { return rows_; }

 private:
  // The conversation, a function of what `row` holds; called on data threads. An InputError of Sample names a
  // row that the format does not take, that is too long or of which nothing is learned.
  virtual Conversation Draw(Row& row) const = 0;

  ChatTokens TokensOf(Row& row) const;
  // Which token is learned most often.
  std::optional<std::int64_t> MostFrequent() const;
  void Judge(EvalPass& piece, std::optional<std::int64_t> frequent, Outcomes& outcomes) const;
  void ShowReplies(EvalPass& piece, std::size_t first, Sheet& sheet) const;
  Answer ReplyTo(EvalPass& piece, const std::vector<std::int64_t>& prompt, const std::string& right) const;

  const Tokenizer& tokenizer_;
  ChatRows rows_;
};

}  // namespace medley
