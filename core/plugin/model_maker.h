#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include <medley/config/lora_config.h>
#include <medley/model/model.h>
#include <medley/plugin/model_file.h>
#include <medley/text/tokenizer.h>

namespace medley {

// Builds the model of a file, with fresh weights: a function of the seed and of each parameter's name. Loads
// the plugin that brings it. The tokenizer is used here only; null where the model declares none. On the
// "meta" device parameters have shapes and no values. Throws InputError where file and tokenizer do not fit
// together. `given`: see ModelContext. `base`: see Adapters.
std::unique_ptr<Model> MakeModel(const ModelFile& file, const Registry& registry, const Tokenizer* tokenizer,
                                 std::uint64_t seed, at::Device device = at::kCPU,
                                 const std::set<std::string>* given = nullptr, const LoraConfig& lora = {},
                                 at::ScalarType base = at::kFloat);

}  // namespace medley
