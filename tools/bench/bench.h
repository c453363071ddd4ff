#pragma once

// What all benches share.

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <vector>

#include <medley/model/model.h>

namespace medley::bench {

// Of an even number the upper one of the two in the middle. Needs a value.
inline double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

inline void DropGradients(const Model& model) {
  for (const Parameter& parameter : model.parameters()) at::Tensor(parameter.tensor).mutable_grad().reset();
}

}  // namespace medley::bench
