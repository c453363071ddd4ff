#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>

#include <medley/model/forward_sizes.h>
#include <medley/model/model.h>
#include <medley/model/model_config.h>

namespace medley::check {

// Makes rows for a model out of its spec: floats of N(0, 1), bytes, bits, and integers below what the spec
// says, each a function of the row's number. Ids of "tokens" are below the model's vocabulary; where a size
// has lengths, every third row is shorter.
class MadeInputs {
 public:
  // Keeps the references. `width`: of each size.
  MadeInputs(const Model& model, const ModelConfig& config, std::int64_t width)
      : model_(model), config_(config), width_(width) {}

  // What the spec does not say and no row can be made without, in words.
  std::optional<std::string> Lacks() const;

  // `count` rows from number `begin` on, side by side, as long as the longest of them.
  ModelInputs Rows(std::int64_t begin, std::int64_t count, at::ScalarType type) const;
  // Rows and sizes of the row alone.
  SeenSizes SizesOfRow(std::int64_t row) const;

 private:
  at::Tensor Made(const TensorSpec& input, std::int64_t row, std::int64_t time, at::ScalarType type) const;
  std::int64_t Below(const TensorSpec& input) const;
  // The size that the input gives lengths of, or null.
  const ModelSize* MeasuredBy(const TensorSpec& input) const;

  const Model& model_;
  const ModelConfig& config_;
  std::int64_t width_;
};

}  // namespace medley::check
