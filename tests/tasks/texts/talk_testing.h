#pragma once

#include <ATen/Functions.h>

#include <map>
#include <string>
#include <vector>

#include <medley/task/drivers/chat_task.h>
#include <medley/task/drivers/preference_task.h>
#include <medley/task/tensors.h>

#include "tests/tasks/task_testing.h"
#include "tests/text/byte_tokenizer.h"

namespace medley::tasks {

inline const ByteTokenizer& TalkBytes() {
  static const ByteTokenizer tokenizer({"<pad>", "<eos>", "<|im_start|>", "<|im_end|>", "<bos>",
                                        "<start_of_turn>", "<end_of_turn>", "<|eot_id|>"});
  return tokenizer;
}

// The options of a spec, some of them others.
inline OptionValues TalkOptions(const TaskSpec& spec, const OptionValues& changed = {}) {
  OptionValues options;
  for (const OptionSpec& option : spec.options) {
    if (option.kind == OptionKind::kNumber) options[std::string(option.name)] = option.value;
    if (option.kind == OptionKind::kWord) options[std::string(option.name)] = std::string(option.words[0]);
    if (option.kind == OptionKind::kText) options[std::string(option.name)] = std::string();
  }
  for (const auto& [name, value] : changed) options[name] = value;
  return options;
}

inline TaskContext TalkContext(const OptionValues& options, const std::string& variant = "default",
                               const std::string& chat = "", DataRules* rules = nullptr) {
  return {{.model = AgentValues(), .tokenizer = &TalkBytes(), .rules = rules, .task = "talk", .chat = chat},
          variant,
          options};
}

// A model that knows the token before alone, in float64: its logits are a sine of the two tokens and of its
// number.
inline at::Tensor TalkLogits(const at::Tensor& before, double model) {
  const at::Tensor next = at::arange(TalkBytes().size(), at::kDouble).unsqueeze(0);
  return at::sin(before.to(at::kDouble).unsqueeze(1).mul(0.7).add(next.mul(1.3 + model)).mul(model + 1));
}

// Its loss of a token behind another.
inline double TalkLoss(std::int64_t before, std::int64_t token, double model) {
  const at::Tensor logits = TalkLogits(at::full({1}, before, at::kLong), model);
  return -at::log_softmax(logits, 1)[0][token].item<double>();
}

// Runs passes, and pieces of an evaluation, with this model; "start" is another one.
class TalkPass final : public EvalPass {
 public:
  TalkPass(const Batch& batch, double model, double start, Carries& carries)
      : batch_(batch.To(at::kCPU)), model_(model), start_(start), carries_(carries) {}

  const Batch& batch() const override { return batch_; }
  at::Tensor Constant(std::string_view) override { throw Error("no constants"); }
  at::Tensor Pixels(std::string_view) override { throw Error("no pictures"); }
  ModelInput Image(std::string_view) override { throw Error("no pictures"); }
  ModelOutputs Forward(const ModelInputs& inputs, const WantedOutputs&) override {
    return Of(inputs, model_);
  }
  ModelOutputs ForwardOf(std::string_view reference, const ModelInputs& inputs,
                         const WantedOutputs&) override {
    if (reference != "start") throw Error("no reference " + std::string(reference));
    return Of(inputs, start_);
  }
  void Carry(std::string_view name, at::Tensor value) override {
    carries_.insert_or_assign(std::string(name), std::move(value));
  }
  at::Tensor Carried(std::string_view name) override { return carries_.find(name)->second; }
  Generated Generate(const ModelInputs& prompt, const GenerateOptions&) override {
    asked = prompt;
    return {std::vector<std::vector<std::int64_t>>(static_cast<std::size_t>(prompt[0].tensor.size(0)), reply),
            {}};
  }

  ModelInputs asked;
  std::vector<std::int64_t> reply;

 private:
  static ModelOutputs Of(const ModelInputs& inputs, double model) {
    const at::Tensor tokens = inputs[0].tensor.flatten(), &places = inputs[2].tensor;
    const at::Tensor logits = TalkLogits(tokens.index_select(0, places - 1), model);
    const at::Tensor targets = tokens.index_select(0, places);
    return {{"logits", logits},
            {"losses", at::log_softmax(logits, 1).gather(1, targets.unsqueeze(1)).squeeze(1).neg()}};
  }

  Batch batch_;
  double model_, start_;
  Carries& carries_;
};

// Pieces of two rows.
class TalkEval final : public EvalContext {
 public:
  TalkEval(const Task& task, double model, double start) : task_(task), model_(model), start_(start) {}
  void ForEachPiece(const RowRange& rows, const std::function<void(EvalPass&)>& fn) override {
    for (std::int64_t done = 0; done < rows.count; done += 2) {
      Carries carries;
      TalkPass pass(task_.Sample(rows.Part(done, std::min<std::int64_t>(2, rows.count - done))), model_,
                    start_, carries);
      pass.reply = reply;
      fn(pass);
      if (!pass.asked.empty()) asked.push_back(pass.asked);
    }
  }

  std::vector<std::int64_t> reply;
  std::vector<ModelInputs> asked;

 private:
  const Task& task_;
  double model_, start_;
};

}  // namespace medley::tasks
