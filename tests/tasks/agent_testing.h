#pragma once

// The tasks with the real agent, in float64, without any executor.

#include <medley/model/agent/agent.h>
#include <medley/model/agent/agent_spec.h>
#include <medley/text/load_tokenizer.h>
#include <medley/weights/model_config_file.h>

#include "tests/model/agent_file.h"
#include "tests/tasks/task_testing.h"

namespace medley::tasks {

inline std::filesystem::path Configs() { return std::filesystem::path(MEDLEY_SOURCE_DIR) / "configs"; }
inline std::filesystem::path AgentConfigFile() { return Configs() / "models/agent-tiny.json"; }

inline const Tokenizer& Words() {
  static const Tokenizer* tokenizer = LoadTokenizer(Configs() / "tokenizers/small.model").release();
  return *tokenizer;
}

inline Model& Agent() {
  static Model* model = [] {
    Model* made = new medley::Agent(test::ReadAgentConfig(AgentConfigFile()), Words(), /*seed=*/5);
    made->To(at::kCPU, at::kDouble);
    return made;
  }();
  return *model;
}

struct AgentTask {
  AgentTask(std::string_view name, std::string variant)
      : info(*TaskNamed(name).spec), passes(info.FindVariant(variant)->passes) {
    OptionValues options;
    for (const OptionInfo& option : info.options) options.emplace(option.name, option.Default());
    task = TaskNamed(name).make(GameContext(Words(), lines, options, std::move(variant)));
  }
  const TaskInfo& info;
  const std::vector<PassInfo>& passes;
  std::vector<std::string> lines = ControlLines();
  std::unique_ptr<Task> task;
};

class AgentPass final : public PassContext {
 public:
  AgentPass(const AgentTask& task, const Batch& batch, Carries& carries, bool detach = false)
      : task_(task), batch_(batch), carries_(carries), detach_(detach) {}
  const Batch& batch() const override { return batch_; }
  at::Tensor Constant(std::string_view name) override { return task_.task->Constant(name); }
  at::Tensor Pixels(std::string_view column) override {
    return batch_.Column(column).to(at::kDouble).div_(255);
  }
  ModelInput Image(std::string_view name) override {
    const auto carried = carries_.find(name);
    return {"images", carried != carries_.end() ? carried->second : Pixels(name), ""};
  }
  ModelOutputs Forward(const ModelInputs& inputs, const WantedOutputs& wanted) override {
    ForwardContext plain;
    return Agent().Forward(inputs, wanted, plain);
  }
  void Carry(std::string_view name, at::Tensor value) override {
    carries_.insert_or_assign(std::string(name), detach_ ? value.detach() : value);
  }
  at::Tensor Carried(std::string_view name) override { return carries_.find(name)->second; }

 private:
  const AgentTask& task_;
  const Batch& batch_;
  Carries& carries_;
  bool detach_;
};

// Terms of different sizes, so that none hides behind another.
inline at::Tensor Weighted(const Sums& sums) {
  at::Tensor loss = at::zeros({}, at::kDouble);
  for (const auto& [term, sum] : sums) loss = loss + sum * (1 + static_cast<double>(HashName(term) % 7));
  return loss;
}

inline at::Tensor Loss(const AgentTask& task, const RowRange& rows, const std::vector<PassInfo>& passes,
                       bool detach = false) {
  const Batch batch = task.task->Sample(rows);
  Carries carries;
  at::Tensor loss = at::zeros({}, at::kDouble);
  for (const PassInfo& pass : passes) {
    AgentPass context(task, batch, carries, detach);
    loss = loss + Weighted(task.task->Run(pass.name, context));
  }
  return loss;
}

inline std::vector<at::Tensor> Gradient(const at::Tensor& loss) {
  std::vector<at::Tensor> leaves;
  for (const Parameter& parameter : Agent().parameters()) leaves.push_back(parameter.tensor);
  auto gradient = torch::autograd::grad({loss}, leaves, {}, c10::nullopt, false, /*allow_unused=*/true);
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (!gradient[i].defined()) gradient[i] = at::zeros_like(leaves[i]);
  }
  return gradient;
}

}  // namespace medley::tasks
