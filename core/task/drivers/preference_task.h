#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <medley/task/drivers/chat_rows.h>
#include <medley/task/drivers/row.h>
#include <medley/task/drivers/sheet.h>
#include <medley/task/task.h>

namespace medley {

struct PreferenceSetting {
  int text_width = 256;      // most tokens of the prompt with one reply, where the option does not say
  bool rows_repeat = false;  // see TaskSpec
  OptionList options{};      // beside those of WithChatOptions, beta and gamma
};

constexpr PassSpec ReplyPass(std::string_view name, int text_width) {
  return {.name = name, .text_width = text_width, .text_width_of = "text_width"};
}
// A pass of the weights that training began with, which keeps what it found under its name.
constexpr PassSpec StartPass(std::string_view name, int text_width) {
  PassSpec pass = ReplyPass(name, text_width);
  pass.keeps = {name};
  pass.no_gradient = true;
  pass.reference = "start";
  return pass;
}
constexpr SpecList<TermSpec, 8> PreferenceTerms(int text_width, double weight_of_chosen) {
  return {
      {.name = "preference"},
      {.name = "chosen", .weight = weight_of_chosen, .max_items = text_width, .max_items_of = "text_width"},
      {.name = "margin", .weight = 0},
      {.name = "accuracy", .weight = 0}};
}

constexpr TaskSpec PreferenceSpec(std::string_view name, std::string_view summary,
                                  const PreferenceSetting& setting = {}) {
  const int width = setting.text_width;
  PassSpec chosen = ReplyPass("chosen", width);
  chosen.carries = {"chosen"};
  const PassSpec rejected = ReplyPass("rejected", width);
  TaskSpec spec{
      .name = name,
      .summary = summary,
      .passes = {StartPass("ref_chosen", width), StartPass("ref_rejected", width), chosen, rejected},
      .terms = PreferenceTerms(width, 0),
      .variants = {{.name = "orpo",
                    .passes = {chosen, rejected},
                    .terms = PreferenceTerms(width, 1),
                    .summary = "odds of the two beside the chosen reply's own loss (ORPO)"},
                   {.name = "simpo",
                    .passes = {chosen, rejected},
                    .terms = PreferenceTerms(width, 0),
                    .summary = "mean log-probabilities, gamma apart (SimPO)"}},
      .options = WithChatOptions(
          {{.name = "beta",
            .value = 0,
            .low = 0,
            .high = 100,
            .summary = "how steep the loss is; 0: 0.1, of simpo 2"},
           {.name = "gamma", .value = 0.5, .low = 0, .high = 100, .summary = "of simpo: the least margin"}},
          width),
      .inputs = {"tokens", "lengths", "supervised"},
      .outputs = {"losses"},
      .special_tokens = {"<pad>", "<eos>"},
      .score = {.name = "preferred", .chance = 0.5, .low = 0, .high = 1, .chance_of_any_rows = true},
      .rows_repeat = setting.rows_repeat};
  for (const OptionSpec& option : setting.options) spec.options.Add(option);
  return spec;
}

// Two replies to a conversation, the better one of which is to become likelier beside the other: by default
// as DPO has it (Rafailov et al. 2023), measured from the weights that training began with; the variants ask
// for no second model. What is left to a task is one row (text/chat_format.h). The terms: "preference", one
// item a row; "chosen", the chosen reply's own loss, as a chat task has it; and two figures, "margin", by how
// much the first is preferred, and "accuracy", the share that is. DPO adds up over a reply and the token that
// ends it, the variants take means.
class PreferenceTask : public Task {
 public:
  Batch Sample(const RowRange& rows) const final;
  Sums Run(std::string_view pass, PassContext& context) const final;
  Outcomes Evaluate(EvalContext& context, const RowRange& rows) const final;
  AskForm Asks() const override;
  Asked Ask(const Questions& questions) const override;
  // What is said in some thousand rows of training, and what the chat format puts around it.
  std::vector<std::string> ShownTexts() const;

 protected:
  // Of a class whose spec PreferenceSpec makes.
  explicit PreferenceTask(const TaskContext& context);

  const ChatRows& chat() const { return rows_; }

 private:
  // What a line of its files asks. Here AskedMessages.
  virtual Conversation Question(const JsonItem& line) const;
  // The row, a function of what `row` holds; called on data threads. An InputError of Sample names a row that
  // the chat format does not take, that is too long or whose replies are one.
  virtual Preference Draw(Row& row) const = 0;

  // How likely the replies are, [rows], by their columns "chosen." or "rejected.".
  at::Tensor LogProbabilities(const ModelOutputs& outputs, const Batch& batch,
                              const std::string& prefix) const;
  // What of the two, less that of the references, is to grow: [rows].
  at::Tensor Margins(const at::Tensor& chosen, const at::Tensor& rejected) const;
  at::Tensor Losses(const at::Tensor& margins) const;
  void Show(const RowRange& rows, const std::vector<double>& preferred, std::size_t first,
            Sheet& sheet) const;

  enum class Kind { kDpo, kOrpo, kSimpo };
  const Tokenizer& tokenizer_;
  ChatRows rows_;
  Kind kind_;
  double beta_, gamma_;
};

// The two replies of a row as tokens, each behind as much of the prompt as leaves room for the longer one.
// InputErrors as those of ChatRows::Tokens; and where the two are one, or the prompt does not end with a
// user.
struct PreferenceTokens {
  ChatTokens chosen, rejected;
  std::size_t cut = 0;  // turns of the prompt that are left out
};
PreferenceTokens TokensOf(const ChatRows& rows, const Preference& preference);

}  // namespace medley
