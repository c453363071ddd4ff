#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include <medley/model/model.h>
#include <medley/model/model_config.h>

namespace medley {

// Rows and sizes of a forward with these inputs, by the dimensions that the spec gives them.
struct SeenSizes {
  std::int64_t rows = 0;
  ForwardSizes sizes{};
};
SeenSizes SizesOf(const ModelSpec& spec, const ModelInputs& inputs);
// The same, but sizes whose spec names an input with lengths are those of the longest row. Looks at values.
SeenSizes LongestSizesOf(const ModelSpec& spec, const ModelInputs& inputs);

// What a tensor of the spec is made of, where the model computes in `float_type`.
at::ScalarType TypeOf(const TensorSpec& declared, at::ScalarType float_type);

// "expected [rows, frames, 2] float, got [3, 40] Long" where a tensor is not what the spec says, as far as
// that can be told without the model's config; "" where it is. `rows`: of the forward.
std::string MisfitOf(const TensorSpec& declared, const at::Tensor& tensor, std::int64_t rows);

// What a tensor of the spec has in front of such rows. An Error names a dimension that nothing explains.
// `vocabulary`: the model's.
std::vector<std::int64_t> DimensionsOf(const TensorSpec& tensor, const SeenSizes& seen,
                                       const ModelConfig& config, std::int64_t vocabulary);

}  // namespace medley
