#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include <medley/model/model.h>

namespace medley {

// Bytes of a model's parameters, or of an optimizer's state.
std::int64_t ParameterBytes(const std::vector<Parameter>& parameters);
// Bytes of those that lie on a device.
std::int64_t ParameterBytes(const std::vector<Parameter>& parameters, at::Device device);
// Bytes of the gradients of those that are trained.
std::int64_t TrainedBytes(const std::vector<Parameter>& parameters);
// Bytes of the gradients that are there.
std::int64_t GradientBytes(const std::vector<Parameter>& parameters);
// Bytes of a model's parameters and tables.
std::int64_t WeightBytes(const Model& model);

}  // namespace medley
