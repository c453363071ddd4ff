#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <medley/task/spec.h>
#include <medley/task/task.h>
#include <medley/text/chat_format.h>

namespace medley {

// Of every driver of conversations, beside an author's own.
constexpr OptionList WithChatOptions(const OptionList& options, int text_width) {
  constexpr int kWidest = 1 << 17;
  OptionList all{{.name = "text_width",
                  .value = static_cast<double>(text_width),
                  .low = 8,
                  .high = kWidest,
                  .summary = "most tokens of a row"},
                 WordOption("too_long", {"refuse", "cut"},
                            "what becomes of longer conversations; cut: their oldest turns go"),
                 TextOption("chat", "the chat format; not given: the run's")};
  for (const OptionSpec& option : options) all.Add(option);
  return all;
}

// Conversations as rows of a task with these options.
class ChatRows {
 public:
  // InputErrors as those of TaskContext::Chat and ChatFormat.
  explicit ChatRows(const TaskContext& context);

  const ChatFormat& format() const { return format_; }
  std::int64_t width() const { return width_; }

  // How many of the oldest turns, behind a system's, must go so that the rest has at most `width` tokens,
  // begins with a user and has its last turn; 0 where it fits. InputError where it does not and is not to be
  // cut, or cannot be.
  std::size_t TooMany(const Conversation& conversation) const;
  static Conversation Without(Conversation conversation, std::size_t oldest);
  // InputError where there is a problem ("turn 2: ..."), or nothing is learned.
  void Check(const Conversation& conversation) const;
  // Checked, cut and encoded. `longest`: as long as can be, all of it learned.
  ChatTokens Tokens(const Conversation& conversation, bool longest = false) const;
  // As long as can be, all of it learned.
  void Lengthen(ChatTokens& tokens) const;

  // Adds the columns PREFIXtokens, padded, PREFIXlengths and PREFIXlearned.
  void AddTo(Batch& batch, const std::string& prefix, const std::vector<ChatTokens>& rows) const;
  // What of these a model is handed to learn from.
  static ModelInputs Inputs(const Batch& batch, const std::string& prefix);

 private:
  const Tokenizer& tokenizer_;
  ChatFormat format_;
  std::int64_t width_;
  bool cuts_;
};

// The items of each row, as a batch wants them.
at::Tensor LearnedItems(const std::vector<ChatTokens>& rows);

}  // namespace medley
