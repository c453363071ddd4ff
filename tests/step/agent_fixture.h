#pragma once

// The tasks of the tree and the real agent: what the tests of whole steps start from.

#include <ATen/Parallel.h>
#include <medley/model/agent/agent.h>
#include <medley/plugin/plugin_host.h>
#include <medley/plugin/registry.h>
#include <medley/step/step_executor.h>
#include <medley/text/load_tokenizer.h>

#include <cctype>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "tests/model/agent_file.h"
#include "tests/step/executor_fixture.h"

namespace medley::testing_fixture {

inline const std::filesystem::path& Configs() {
  static const auto* path = new std::filesystem::path(std::filesystem::path(MEDLEY_SOURCE_DIR) / "configs");
  return *path;
}

inline const std::filesystem::path& TinyAgent() {
  static const auto* path = new std::filesystem::path(Configs() / "models/agent-tiny.json");
  return *path;
}

inline const Tokenizer& SharedTokenizer() {
  static const Tokenizer* tokenizer = LoadTokenizer(Configs() / "tokenizers/small.model").release();
  return *tokenizer;
}

inline const Registry& SharedRegistry() {
  static const auto* registry = new Registry(
      Registry::Scan({.paths = {std::filesystem::path(MEDLEY_BUILD_DIR) / "lib/medley/" MEDLEY_PLUGIN_FOLDER},
                      .environment = false,
                      .user_directory = false}));
  return *registry;
}

inline const ModelFile& TinyAgentFile() {
  static const auto* file = new ModelFile(ReadModelFile(TinyAgent(), SharedRegistry()));
  return *file;
}

struct TaskVariant {
  std::string task, variant;
};
inline std::ostream& operator<<(std::ostream& out, const TaskVariant& v) {
  return out << v.task << ", variant " << v.variant;
}

inline std::vector<TaskVariant> AllVariants() {
  std::vector<TaskVariant> all;
  for (const TaskInfo* info : SharedRegistry().tasks()) {
    for (const VariantInfo& variant : info->variants) all.push_back({info->name, variant.name});
  }
  return all;
}

// As they are without a word in a config.
inline std::vector<TaskVariant> DefaultVariants() {
  std::vector<TaskVariant> variants;
  for (const TaskVariant& what : AllVariants()) {
    if (what.variant == "default") variants.push_back(what);
  }
  return variants;
}

// For INSTANTIATE_TEST_SUITE_P.
inline std::string NameOf(const TaskVariant& v) {
  std::string name = v.task + "_" + v.variant;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

// `qwen2`: with biases in the place of norms. `loss_items`: that the limit of losses has room for; 0: the
// default's.
inline std::unique_ptr<Model> MakeAgent(double dropout, at::ScalarType dtype, bool qwen2,
                                        const LoraConfig& lora, std::int64_t loss_items) {
  AgentConfig config = test::ReadAgentConfig(TinyAgent());
  if (loss_items > 0)
    config.language.loss_bytes = loss_items * LossPieces::ItemBytes(SharedTokenizer().size());
  if (qwen2) config.language.qk_norm = false, config.language.attention_bias = AttentionBias::kQkv;
  config.encoder.dropout = config.decoder.dropout = dropout;
  auto agent = std::make_unique<Agent>(config, SharedTokenizer(), /*seed=*/3, at::kCPU, nullptr,
                                       AdaptersOf(lora, &SharedTokenizer()));
  if (dtype != at::kFloat) agent->To(at::kCPU, dtype);
  return agent;
}

// Of a task over people's files: a file of both kinds of talk.
inline OptionValues OptionsOnFile(const std::string& task) {
  OptionValues options;
  for (const OptionInfo& option : SharedRegistry().Require(task).options) {
    if (option.kind == OptionKind::kPath && option.required)
      options.emplace(option.name, std::string(MEDLEY_SOURCE_DIR "/tests/tasks/texts/talk.jsonl"));
    if (option.name == "text_width") options.emplace(option.name, 128.0);
  }
  return options;
}

// A task with an agent of its own, on one thread: sums are in one order on every machine.
struct AgentWithTask {
  // `dropout`: of encoder and picture decoder.
  explicit AgentWithTask(const TaskVariant& what, double dropout = 0, at::ScalarType dtype = at::kFloat,
                         bool qwen2 = false, const LoraConfig& lora = {}, std::int64_t loss_items = 0)
      : model(MakeAgent(dropout, dtype, qwen2, lora, loss_items)),
        host({.registry = SharedRegistry(),
              .model = TinyAgentFile(),
              .tokenizer = &SharedTokenizer(),
              .control_text = control_text}),
        task(host.Get(OwnForm(what.task, {.mode = {},
                                          .recompute_layers = {},
                                          .variant = what.variant,
                                          .options = OptionsOnFile(what.task),
                                          .terms = {}}))) {
    at::set_num_threads(1);
  }

  Batch Rows(std::int64_t begin, std::int64_t count, bool longest = false) const {
    return task.Sample(
        {.seed = TaskSeed(3, task.info().name), .begin = begin, .count = count, .longest = longest});
  }
  StepLosses Run(const Batch& rows, const Execution& plan) {
    return executor.Run({{.task = &task, .batch = &rows, .execution = &plan}});
  }
  StepLosses Run(const Batch& rows, const Execution& plan, StepObserver& observer) {
    return executor.Run({{.task = &task, .batch = &rows, .execution = &plan}}, observer);
  }
  Gradient GradientOf(const Batch& rows, const Execution& plan) {
    Run(rows, plan);
    return TakeGradient(*model);
  }

  std::vector<std::string> control_text{"The cat sits on the mat.", "A red boat, far out at sea.", "Hm."};
  std::unique_ptr<Model> model;
  PluginHost host;
  LoadedTask& task;
  StepExecutor executor{*model, at::kCPU};
};

}  // namespace medley::testing_fixture
