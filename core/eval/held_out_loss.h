#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include <medley/model/model.h>
#include <medley/plugin/loaded_task.h>
#include <medley/report/score.h>
#include <medley/step/execution.h>
#include <medley/step/passes/pass_runner.h>
#include <medley/task/batch.h>
#include <medley/text/tokenizer.h>

namespace medley {

// The loss that training would see on rows which it does not train on. To be used on the trainer's thread;
// without grad mode no graph is made.
class HeldOutLoss {
 public:
  // Keeps the references; further weights may be null.
  HeldOutLoss(LoadedTask& task, const Model& model, at::Device device, const References* references = nullptr)
      : task_(task), model_(model), device_(device), references_(references) {}

  // Runs the task's passes on rows of the CPU, all at once. What they throw passes.
  void Add(const Batch& rows);
  // Of all rows so far: the terms' weights times their means over items; a term without items adds nothing.
  double Value(const Execution& plan) const;

  // Before the first rows: counts the bytes of text too; null: there is no vocabulary that tells them.
  void CountText(const Tokenizer* tokenizer);
  // Of the terms of text: those whose items in each row, of all rows so far, are the tokens that their pass
  // handed the model to learn. A pass with two such terms has none, as nothing tells them apart; those
  // without items are none of them.
  std::map<std::string, TextLoss> Text() const;

 private:
  // What a pass handed the model to learn.
  struct PassText {
    std::set<std::string> terms{};          // that it sums
    std::optional<std::int64_t> bytes = 0;  // nothing: the vocabulary does not tell
  };
  void CountTextOf(const PassRecord& record, const Batch& rows, const Sums& sums, PassText& text);
  std::optional<std::int64_t> BytesOf(std::int64_t token) const;

  LoadedTask& task_;
  const Model& model_;
  at::Device device_;
  const References* references_;
  std::map<std::string, double> sums_;
  std::map<std::string, std::int64_t> counts_;
  bool counts_text_ = false;
  const Tokenizer* tokenizer_ = nullptr;
  std::set<std::string> no_text_;      // names of special tokens
  std::set<std::string> not_of_text_;  // terms
  std::map<std::string, PassText> text_;
};

}  // namespace medley
