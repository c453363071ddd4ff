#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <medley/task/asking.h>
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
                 TextOption(kChatOption, "the chat format, a name or a NAME.json; not given: the run's")};
  for (const OptionSpec& option : options) all.Add(option);
  return all;
}

// Columns of the pictures that a conversation shows, in its order.
inline constexpr std::array<std::string_view, 4> kChatPictures = {"picture1", "picture2", "picture3",
                                                                  "picture4"};
// How many of them each row has.
constexpr OptionSpec ChatPicturesOption() {
  return {.name = "images",
          .value = 0,
          .low = 0,
          .high = static_cast<double>(kChatPictures.size()),
          .summary = "how many pictures each conversation shows; a model that sees some"};
}

// Conversations as rows of a task with these options.
class ChatRows {
 public:
  // InputErrors as those of TaskContext::Chat and ChatFormat.
  explicit ChatRows(const TaskContext& context);

  const ChatFormat& format() const { return format_; }
  std::int64_t width() const { return width_; }
  // How many pictures each conversation shows: the option `images`, 0 where the task has none.
  std::size_t pictures() const { return pictures_; }

  // How many of the oldest turns, behind a system's, must go so that the rest has at most `width` tokens,
  // begins with a user and has its last turn; 0 where it fits. InputError where it does not and is not to be
  // cut, or cannot be, as no turn that shows a picture is left out.
  std::size_t TooMany(const Conversation& conversation) const;
  static Conversation Without(Conversation conversation, std::size_t oldest);
  // InputError where there is a problem ("turn 2: ..."), nothing is learned, or it shows other than so many
  // pictures.
  void Check(const Conversation& conversation) const;
  // Checked, cut and encoded. `longest`: as long as can be, all of it learned.
  ChatTokens Tokens(const Conversation& conversation, bool longest = false) const;
  // As long as can be, all of it learned.
  void Lengthen(ChatTokens& tokens) const;

  // Conversations that a user ends, as a model is asked to answer them, all of which show as many pictures,
  // which are not in it; where a row is cut, so is what is too long for one. Their places are the lines', for
  // InputErrors.
  Asked Ask(std::vector<Conversation> conversations, const Questions& questions) const;

  // Adds the columns PREFIXtokens, padded, PREFIXlengths and PREFIXlearned.
  void AddTo(Batch& batch, const std::string& prefix, const std::vector<ChatTokens>& rows) const;
  // What of these a model is handed to learn from.
  static ModelInputs Inputs(const Batch& batch, const std::string& prefix);

 private:
  // InputError where a question shows more pictures than any, or where it is trained on none.
  void CheckShown(std::size_t pictures) const;
  std::vector<std::int64_t> PromptOf(const Conversation& conversation) const;

  const Tokenizer& tokenizer_;
  ChatFormat format_;
  std::int64_t width_;
  bool cuts_;
  std::size_t pictures_ = 0;
};

// How many pictures its turns show.
std::size_t PicturesIn(const Conversation& conversation);

// A line {"messages": [{"role", "content"}]} without pictures that a user ends, or an answer that is left
// out.
Conversation AskedMessages(const JsonItem& line);

// The items of each row, as a batch wants them.
at::Tensor LearnedItems(const std::vector<ChatTokens>& rows);

}  // namespace medley
