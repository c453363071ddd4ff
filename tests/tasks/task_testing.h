#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <medley/model/agent/agent_spec.h>
#include <medley/model/model_info.h>
#include <medley/task/pass_images.h>

#include "tests/tasks/all_tasks.h"
#include "tests/tasks/word_tokenizer.h"

namespace medley::tasks {

inline double Mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

inline std::vector<std::string> ControlLines() {
  return {"The cat sleeps.", "A wall never moves.", "It rained all day, so we stayed at home.",
          "One two three four five six seven eight nine ten one two three four five six seven eight nine ten "
          "one two "
          "three four five six seven eight nine ten."};
}

inline const ModelConfig& AgentValues() {
  static const auto* values = new ModelConfig(InfoOf(kAgentSpec));
  return *values;
}

inline TaskContext GameContext(const Tokenizer& tokenizer, const std::vector<std::string>& lines,
                               OptionValues options, std::string variant = "default",
                               std::int64_t size = 128) {
  return {{.model = AgentValues(),
           .tokenizer = &tokenizer,
           .image = ImageGeometry{size, 16},
           .control_text = &lines},
          std::move(variant),
          std::move(options)};
}

// A task with everything that it is built from.
struct TaskUnderTest {
  explicit TaskUnderTest(std::string_view name, std::int64_t size = 128, std::string variant = "default",
                         const std::map<std::string, double>& changed_options = {})
      : entry(TaskNamed(name)), lines(ControlLines()) {
    std::vector<std::string> texts = lines;
    for (const TaskClass& any : AllTasks()) {
      texts.insert(texts.end(), any.texts.begin(), any.texts.end());
    }
    tokenizer = std::make_unique<WordTokenizer>(texts);
    OptionValues options = OptionsOf(*entry.spec);
    for (const auto& [option, value] : changed_options) options.at(option) = value;
    task = entry.make(GameContext(*tokenizer, lines, options, std::move(variant), size));
  }

  // The texts of a constant, without their eos.
  std::vector<std::string> Texts(std::string_view constant) const {
    std::vector<std::string> texts;
    const at::Tensor table = task->Constant(constant);
    for (std::int64_t row = 0; row < table.size(0); ++row) {
      std::vector<std::int64_t> ids;
      for (std::int64_t i = 0; i < table.size(1); ++i) {
        const std::int64_t id = table[row][i].item<std::int64_t>();
        if (id != tokenizer->pad() && id != tokenizer->eos()) ids.push_back(id);
      }
      texts.push_back(tokenizer->Decode(ids));
    }
    return texts;
  }
  std::string TextOf(const at::Tensor& tokens, std::int64_t begin, std::int64_t end) const {
    std::vector<std::int64_t> ids;
    for (std::int64_t i = begin; i < end; ++i) ids.push_back(tokens[i].item<std::int64_t>());
    return tokenizer->Decode(ids);
  }

  const TaskClass& entry;
  std::vector<std::string> lines;
  std::unique_ptr<WordTokenizer> tokenizer;
  std::unique_ptr<Task> task;
};

using Carries = std::map<std::string, at::Tensor, std::less<>>;

// Stands in for executor and model: remembers what a pass hands in and asks for.
class FakePass final : public EvalPass {
 public:
  // Passes that see each other's carries are given the same `carries`.
  FakePass(const TaskUnderTest& under_test, const Batch& batch, Carries* carries = nullptr)
      : test_(under_test),
        batch_(batch.To(at::kCPU)),
        carries_(carries != nullptr ? carries : &own_carries_) {}

  const Batch& batch() const override { return batch_; }
  at::Tensor Constant(std::string_view name) override {
    constants.emplace(name);
    return test_.task->Constant(name);
  }
  at::Tensor Pixels(std::string_view column) override {
    return batch_.Column(column).to(at::kFloat).div_(255);
  }
  ModelInput Image(std::string_view name) override {
    images.emplace(name);
    const auto carried = carries_->find(name);
    if (carried != carries_->end()) return {"images", carried->second, CarryKey(name)};
    return {"images", Pixels(name), ColumnKey(name)};
  }
  ModelOutputs Forward(const ModelInputs& given, const WantedOutputs& asked) override {
    ++forwards;
    inputs = given;
    wanted.clear();
    for (const auto output : asked) wanted.emplace(output);
    ModelOutputs outputs;
    // One picture for both, as a model without alpha draws it.
    if (draws()) outputs["image"] = outputs["drawing"] = draw ? draw(*this) : at::rand_like(LastImage());
    if (wanted.count("losses")) outputs["losses"] = at::ones(Input("supervised").sizes());
    return outputs;
  }
  Generated Generate(const ModelInputs& prompt, const GenerateOptions&) override {
    inputs = prompt;
    return {answer(*this), {}};
  }
  void Carry(std::string_view name, at::Tensor value) override {
    made.emplace(name);
    carries_->insert_or_assign(std::string(name), std::move(value));
  }
  at::Tensor Carried(std::string_view name) override { return carries_->find(name)->second; }

  const at::Tensor& Input(std::string_view name) const {
    for (const ModelInput& input : inputs) {
      if (input.name == name) return input.tensor;
    }
    throw Error("no input " + std::string(name));
  }

  bool draws() const { return wanted.count("image") + wanted.count("drawing") > 0; }
  at::Tensor LastImage() const {
    at::Tensor image;
    for (const ModelInput& input : inputs) {
      if (input.name == "images") image = input.tensor;
    }
    return image;
  }

  std::function<at::Tensor(FakePass&)> draw;
  std::function<std::vector<std::vector<std::int64_t>>(FakePass&)> answer;
  ModelInputs inputs;
  std::set<std::string> wanted, constants, images, made;
  int forwards = 0;

 private:
  const TaskUnderTest& test_;
  Batch batch_;
  Carries own_carries_;
  Carries* carries_;
};

class FakeEval final : public EvalContext {
 public:
  explicit FakeEval(const TaskUnderTest& under_test, std::int64_t piece = 5)
      : test_(under_test), piece_(piece) {}
  void ForEachPiece(const RowRange& rows, const std::function<void(EvalPass&)>& fn) override {
    for (std::int64_t at = 0; at < rows.count; at += piece_) {
      FakePass pass(test_, test_.task->Sample(rows.Part(at, std::min(piece_, rows.count - at))));
      pass.draw = draw;
      pass.answer = answer;
      fn(pass);
    }
  }
  std::function<at::Tensor(FakePass&)> draw;
  std::function<std::vector<std::vector<std::int64_t>>(FakePass&)> answer;

 private:
  const TaskUnderTest& test_;
  std::int64_t piece_;
};

}  // namespace medley::tasks
