#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <string_view>
#include <vector>

#include <medley/task/drivers/mixed_pass.h>
#include <medley/task/drivers/sheet.h>
#include <medley/task/drivers/text_list.h>
#include <medley/task/task.h>
#include <medley/task/text_rows.h>

namespace medley {

struct NamedTable {
  std::string name;  // of the constant
  const TextTable* table;
};

// How a question was answered, row by row.
struct Judged {
  std::vector<std::int64_t> labels;  // the right ones, -1 in a row that is not asked
  std::vector<double> right;         // 1 or 0
};

// A question in words, with the texts that answer it by label. A row is prompt, reply and eos without a gap,
// of which reply and eos are learned.
class TextQuestion {
 public:
  struct Row {
    std::int64_t label = 0;
    std::int64_t prompt = 0;  // row of its table
    bool is_asked = true;     // neither learned nor judged where not
    bool is_learned = true;   // not where it makes another pass
  };

  // Columns are NAME.*, the learned tokens count for `term`. The tables outlive it. An InputError where its
  // longest prompt and reply have more than `most_tokens`.
  TextQuestion(const Tokenizer& tokenizer, std::string_view name, std::string_view term, NamedTable prompts,
               std::vector<NamedTable> replies, std::int64_t most_tokens = kQuestionWidth);

  const std::string& name() const { return name_; }
  std::int64_t width() const { return width_; }  // of the longest prompt and reply
  std::int64_t DrawPrompt(const RowRange& rows, RowRandom& random) const {
    return prompts_.table->Draw(rows, random);
  }
  void Sample(Batch& batch, const std::vector<Row>& rows) const;

  // All of the text, padded to `width`.
  TextPart Part(PassContext& context, std::int64_t width) const;
  // Inputs with the pictures: what the model is given to learn from, and to reply to.
  ModelInputs LearnedInputs(ModelInputs pictures, PassContext& context) const;
  ModelInputs PromptInputs(ModelInputs pictures, PassContext& context) const;

  // Appends the next rows: a greedy reply is right where it is a text of the right label's table.
  void Judge(ModelInputs pictures, EvalPass& piece, Judged& judged, Sheet& sheet) const;

 private:
  std::string Column(std::string_view what) const { return name_ + "." + std::string(what); }
  at::Tensor PromptTokens(PassContext& context) const;
  std::string ReplyText(std::size_t label, std::int64_t row) const;
  bool IsRight(std::size_t label, const std::string& reply) const;

  const Tokenizer& tokenizer_;
  std::string name_, term_;
  NamedTable prompts_;
  std::vector<NamedTable> replies_;   // by label
  std::vector<std::int64_t> offset_;  // of a label's first reply in all replies
  std::int64_t width_ = 0;
  std::size_t longest_reply_ = 0;  // its label
};

}  // namespace medley
