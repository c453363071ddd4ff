#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <medley/task/drivers/chat_rows.h>
#include <medley/task/drivers/picture_bytes.h>
#include <medley/task/drivers/row.h>
#include <medley/task/drivers/sheet.h>
#include <medley/task/task.h>

namespace medley {

struct ChatSetting {
  int text_width = 256;      // most tokens of a row, where the option does not say
  bool rows_repeat = false;  // see TaskSpec
  bool pictures = false;     // conversations may show some: an option says how many
  OptionList options{};      // beside those of WithChatOptions
};

constexpr TaskSpec ChatSpec(std::string_view name, std::string_view summary,
                            const ChatSetting& setting = {}) {
  PassSpec pass{.name = "reply", .text_width = setting.text_width, .text_width_of = "text_width"};
  if (setting.pictures) {
    for (const std::string_view picture : kChatPictures) pass.images.Add(picture);
    pass.images_of = "images";
  }
  TaskSpec spec{.name = name,
                .summary = summary,
                .passes = {pass},
                .terms = {{.name = "reply", .max_items = setting.text_width, .max_items_of = "text_width"}},
                .options = WithChatOptions(setting.options, setting.text_width),
                .inputs = {"tokens", "lengths", "supervised"},
                .outputs = {"losses", "logits"},
                .special_tokens = {"<pad>", "<eos>"},
                .score = {.name = "tokens_right", .low = 0, .high = 1},
                .rows_repeat = setting.rows_repeat};
  if (setting.pictures) spec.options.Add(ChatPicturesOption());
  return spec;
}

// Conversations in the run's chat format. What is left to a task is one conversation (text/chat_format.h):
// its turns, and which of an assistant's are learned. A row's score is the share of its learned tokens that
// are the likeliest behind the right ones before them; the sheet shows what the model replies in place of the
// last answer that is learned. Pictures that it shows are handed to the model as "images", in their order.
class ChatTask : public Task {
 public:
  Batch Sample(const RowRange& rows) const final;
  Sums Run(std::string_view pass, PassContext& context) const final;
  Outcomes Evaluate(EvalContext& context, const RowRange& rows) const final;
  AskForm Asks() const override;
  Asked Ask(const Questions& questions) const override;
  // What is said in some thousand rows of training, and what the chat format puts around it.
  std::vector<std::string> ShownTexts() const;

 protected:
  // Of a class whose spec ChatSpec makes.
  explicit ChatTask(const TaskContext& context);

  const ChatRows& chat() const { return rows_; }

 private:
  // What a line of its files asks. Here AskedMessages.
  virtual Conversation Question(const JsonItem& line) const;
  // Draws the pictures of such a line, so many as that conversation shows; `folder`: of the paths in it.
  // Without it an Error: for a task whose spec has no pictures.
  virtual void ShowQuestion(const JsonItem& line, const std::filesystem::path& folder,
                            const std::vector<PictureBytes>& pictures) const;
  // The conversation, a function of what `row` holds; called on data threads. An InputError of Sample names a
  // row that the format does not take, that is too long or of which nothing is learned.
  virtual Conversation Draw(Row& row) const = 0;
  // Draws the row's pictures, so many as the option `images` says, as the conversation has them; called on
  // data threads. Without it an Error: for a task whose spec has no pictures.
  virtual void Show(Row& row, const std::vector<PictureBytes>& pictures) const;

  ChatTokens TokensOf(Row& row) const;
  void AddPictures(const RowRange& rows, Batch& batch) const;
  // The pictures of so many rows of a piece from that one on.
  ModelInputs Pictures(EvalPass& piece, std::int64_t begin, std::int64_t count) const;
  // Those of questions, each of which shows so many.
  ModelInputs PicturesOf(const Questions& questions, std::size_t pictures) const;
  // Which token is learned most often.
  std::optional<std::int64_t> MostFrequent() const;
  void Judge(EvalPass& piece, std::optional<std::int64_t> frequent, Outcomes& outcomes) const;
  void ShowReplies(EvalPass& piece, std::size_t first, Sheet& sheet) const;
  Answer ReplyTo(EvalPass& piece, std::int64_t row, const std::vector<std::int64_t>& prompt,
                 const std::string& right) const;

  const Tokenizer& tokenizer_;
  ChatRows rows_;
  std::int64_t picture_size_ = 0;
  PictureRule picture_rule_;
};

}  // namespace medley
