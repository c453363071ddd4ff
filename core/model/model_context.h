#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include <medley/model/model_config.h>
#include <medley/text/tokenizer.h>

namespace medley {

// What a model is built from. Everything referred to outlives its constructor, and nothing more.
class ModelContext {
 public:
  // `tokenizer` null: the model declares none.
  ModelContext(const ModelConfig& config, std::uint64_t seed, at::Device device, const Tokenizer* tokenizer)
      : config(config), seed(seed), device(device), tokenizer_(tokenizer) {}

  // The values of its config file.
  const ModelConfig& config;
  // For a ParameterSet: the same seed, the same start.
  std::uint64_t seed;
  // On "meta" parameters have shapes and no values.
  at::Device device;
  // An Error where the model's spec does not declare it.
  const Tokenizer& tokenizer() const;

 private:
  const Tokenizer* tokenizer_;
};

}  // namespace medley
