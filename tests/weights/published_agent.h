#pragma once

// An agent whose tower, and maybe language, are those of a folder, as a run reads it.

#include <gtest/gtest.h>

#include <medley/model/agent/agent.h>
#include <medley/model/agent/agent_spec.h>
#include <medley/model/model_info.h>
#include <medley/run/starting_weights.h>
#include <medley/weights/model_config_file.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "tests/model/letter_tokenizer.h"
#include "tests/report/scratch_directory.h"
#include "tests/words.h"

namespace medley::test {

// The file's model; an InputError with every mistake.
inline ModelFile ReadAgentFile(const nlohmann::ordered_json& json) {
  const ScratchDirectory scratch;
  WriteText(scratch / "model.json", json.dump());
  Diagnostics diagnostics;
  ConfigFile file(scratch / "model.json", diagnostics);
  const ModelInfo info = InfoOf(kAgentSpec);
  ModelFile model{.info = info, .config = ReadModelConfig(file, info)};
  diagnostics.Throw();
  return model;
}

// Of a picture decoder as small as may be, with the tower of a folder, or its language too.
inline nlohmann::ordered_json TowerFile(const std::filesystem::path& folder, bool with_language) {
  nlohmann::ordered_json json = {{"kind", "agent"},
                                 {"tower", {{"pretrained", folder.string()}}},
                                 {"decoder", {{"layers", 1}, {"heads", 1}, {"ffn", 4}}}};
  if (with_language) json["language"] = {{"pretrained", folder.string()}};
  return json;
}

class PublishedAgent {
 public:
  explicit PublishedAgent(const nlohmann::ordered_json& json, const Adapters& adapters = {})
      : file_(ReadAgentFile(json)), config_(file_.config) {
    const Agent shapes(config_, tokenizer_, 0, at::kMeta, nullptr, adapters);
    weights_.emplace(StartingWeightsOf(file_, {}, {}), shapes.parameters());
    agent_.emplace(config_, tokenizer_, /*seed=*/3, at::kCPU, &weights_->given(), adapters);
    weights_->Fill(agent_->parameters(), {});
  }

  Agent& agent() { return *agent_; }
  const AgentConfig& config() const { return config_; }
  const ModelFile& file() const { return file_; }
  const PretrainedWeights& weights() const { return *weights_; }

 private:
  LetterTokenizer tokenizer_;
  ModelFile file_;
  AgentConfig config_;
  std::optional<PretrainedWeights> weights_;
  std::optional<Agent> agent_;
};

// The tower of a folder by itself, as a model that has no more takes it.
class PublishedVisionTower {
 public:
  explicit PublishedVisionTower(const std::filesystem::path& folder)
      : config_(ReadPretrainedTower(folder).tower),
        weights_({.tower = {.directory = folder, .root = kTowerNames}}, Shapes()),
        set_(0, at::kCPU, {}, &weights_.given()),
        tower_(set_, config_, kTowerNames) {
    weights_.Fill(set_.list(), {});
  }

  at::Tensor operator()(const at::Tensor& pictures) const {
    ForwardContext context;
    return tower_(pictures, context);
  }
  void To(at::ScalarType dtype) { set_.To(at::kCPU, dtype), tower_.To(at::kCPU, dtype); }
  const std::vector<Parameter>& parameters() const { return set_.list(); }

 private:
  std::vector<Parameter> Shapes() const {
    ParameterSet shapes(0, at::kMeta);
    const VisionTower tower(shapes, config_, kTowerNames);
    return shapes.list();
  }

  TowerConfig config_;
  PretrainedWeights weights_;
  ParameterSet set_;
  VisionTower tower_;
};

}  // namespace medley::test
