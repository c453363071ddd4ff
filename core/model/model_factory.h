#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <memory>

#include <medley/model/model.h>
#include <medley/text/tokenizer.h>

namespace medley {

// Builds the model that a file of configs/models describes, with fresh weights: a function of the seed and
// of each parameter's name. The tokenizer is used here only. On the "meta" device parameters have shapes and
// no values. Throws InputError where file and tokenizer do not fit together.
std::unique_ptr<Model> MakeModel(const std::filesystem::path& config, const Tokenizer& tokenizer,
                                 std::uint64_t seed, at::Device device = at::kCPU);

// The pictures that the model of the file sees and draws.
ImageGeometry ReadImageGeometry(const std::filesystem::path& config);

}  // namespace medley
