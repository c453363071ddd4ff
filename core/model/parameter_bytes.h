#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include <medley/model/model.h>

namespace medley {

// Bytes of those that lie on a device: a model's parameters, an optimizer's state.
inline std::int64_t ParameterBytes(const std::vector<Parameter>& parameters, at::Device device) {
  std::int64_t bytes = 0;
  for (const Parameter& parameter : parameters) {
    if (parameter.tensor.device() == device) bytes += static_cast<std::int64_t>(parameter.tensor.nbytes());
  }
  return bytes;
}

}  // namespace medley
