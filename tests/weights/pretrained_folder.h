#pragma once

// Small Hugging Face folders, whole or wrong in one way.

#include <gtest/gtest.h>

#include <ATen/ATen.h>
#include <medley/base/error.h>
#include <medley/model/blocks/language.h>
#include <medley/weights/pretrained_config.h>
#include <medley/weights/pretrained_weights.h>
#include <medley/weights/safetensors.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/report/scratch_directory.h"
#include "tests/words.h"

namespace medley::test {

using Tensors = std::map<std::string, at::Tensor>;
using Json = nlohmann::ordered_json;

inline constexpr std::int64_t kTableRows = 40;

// Of two layers; `changes` replaces or adds fields, null takes them away.
inline Json SmallPublishedConfig(const Json& changes = Json::object()) {
  Json config = {{"architectures", {"Qwen3ForCausalLM"}},
                 {"model_type", "qwen3"},
                 {"hidden_size", 16},
                 {"num_hidden_layers", 2},
                 {"num_attention_heads", 4},
                 {"num_key_value_heads", 2},
                 {"head_dim", 6},
                 {"intermediate_size", 24},
                 {"vocab_size", kTableRows},
                 {"tie_word_embeddings", true}};
  config.merge_patch(changes);
  return config;
}

inline void WriteTensors(const std::filesystem::path& file, const Tensors& tensors) {
  std::vector<Parameter> list;
  for (const auto& [name, tensor] : tensors) list.push_back({name, tensor});
  std::ofstream out(file, std::ios::binary);
  WriteSafetensors(list, {{"format", "pt"}}, [&](const void* data, std::size_t size) {
    out.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
  });
}

// A folder of random weights.
class PublishedFolder {
 public:
  explicit PublishedFolder(const Json& changes = Json::object(), at::ScalarType dtype = at::kFloat) {
    WriteText(path() / "config.json", SmallPublishedConfig(changes).dump(1));
    const LanguageConfig config = ReadPretrainedConfig(path()).language;
    ParameterSet set(11, at::kCPU);
    const Language language(set, config, config.vocabulary, 8);
    for (const Parameter& parameter : set.list())
      tensors[parameter.name] = at::randn(parameter.tensor.sizes()).to(dtype);
    Write();
  }

  const std::filesystem::path& path() const { return scratch_.path(); }
  std::filesystem::path operator/(const std::string& name) const { return scratch_ / name; }
  // In one file.
  void Write() const { WriteTensors(path() / "model.safetensors", tensors); }
  // In two shards and an index.
  void WriteShards() const {
    std::filesystem::remove(path() / "model.safetensors");
    Tensors shards[2];
    Json index = {{"metadata", {{"total_size", 0}}}, {"weight_map", Json::object()}};
    std::size_t i = 0;
    for (const auto& [name, tensor] : tensors) {
      index["weight_map"][name] = Shard(i % 2);
      shards[i++ % 2][name] = tensor;
    }
    for (const std::size_t shard : {0, 1}) WriteTensors(path() / Shard(shard), shards[shard]);
    WriteText(path() / "model.safetensors.index.json", index.dump());
  }
  static std::string Shard(std::size_t number) {
    return "model-0000" + std::to_string(number + 1) + "-of-00002.safetensors";
  }

  Tensors tensors;  // by their published names

 private:
  ScratchDirectory scratch_;
};

// The parameters of a folder's language, and of others that stand beside it.
struct PublishedModel {
  explicit PublishedModel(const std::filesystem::path& folder, std::int64_t rows = kTableRows,
                          at::Device device = at::kCPU, const std::set<std::string>* given = nullptr)
      : set(3, device, {}, given), language(set, ReadPretrainedConfig(folder).language, rows, 8) {
    set.Normal("img_enc.weight", {3, 2}, 1);
  }
  ParameterSet set;
  Language language;
};

inline PretrainedWeights OpenWeights(const std::filesystem::path& folder, std::int64_t rows = kTableRows,
                                     std::vector<std::string> allow_missing = {},
                                     std::vector<std::string> allow_unexpected = {}) {
  const PublishedModel shapes(folder, rows, at::kMeta);
  return PretrainedWeights({.directory = folder,
                            .root = "",
                            .rows = ReadPretrainedConfig(folder).language.vocabulary,
                            .allow_missing = std::move(allow_missing),
                            .allow_unexpected = std::move(allow_unexpected)},
                           shapes.set.list());
}

// Why it is refused; "" where it is not.
template <typename Fn>
std::string Refusal(const Fn& fn) {
  return MessageOf<InputError>(fn);
}

}  // namespace medley::test
