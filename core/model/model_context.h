#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <set>
#include <string>

#include <medley/model/adapters.h>
#include <medley/model/model_config.h>
#include <medley/text/tokenizer.h>

namespace medley {

// What a model is built from. Everything referred to outlives its constructor, and nothing more.
class ModelContext {
 public:
  // `tokenizer` null: the model declares none; `given` null: see below.
  ModelContext(const ModelConfig& config, std::uint64_t seed, at::Device device, const Tokenizer* tokenizer,
               const std::set<std::string>* given = nullptr, const LoraConfig& lora = {},
               at::ScalarType base = at::kFloat)
      : config(config),
        seed(seed),
        device(device),
        given(given),
        adapters(AdaptersOf(lora, tokenizer, base)),
        tokenizer_(tokenizer) {}

  // The values of its config file.
  const ModelConfig& config;
  // A ParameterSet draws from it: the same seed, the same start.
  std::uint64_t seed;
  // On "meta" parameters have shapes and no values.
  at::Device device;
  // Parameters whose values come from a file and that a ParameterSet does not draw; null: none.
  const std::set<std::string>* given;
  // What a ParameterSet adds to the language of the model, if anything.
  Adapters adapters;
  // An Error where the model's spec does not declare it.
  const Tokenizer& tokenizer() const;

 private:
  const Tokenizer* tokenizer_;
};

}  // namespace medley
