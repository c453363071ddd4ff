#include <medley/model/parameter_bytes.h>

namespace medley {
namespace {

// `tensor_of`: what counts of a parameter; an undefined tensor counts nothing.
template <typename TensorOf>
std::int64_t Sum(const std::vector<Parameter>& parameters, const TensorOf& tensor_of) {
  std::int64_t bytes = 0;
  for (const Parameter& parameter : parameters) {
    const at::Tensor tensor = tensor_of(parameter.tensor);
    if (tensor.defined()) bytes += static_cast<std::int64_t>(tensor.nbytes());
  }
  return bytes;
}

}  // namespace

std::int64_t ParameterBytes(const std::vector<Parameter>& parameters) {
  return Sum(parameters, [](const at::Tensor& tensor) { return tensor; });
}

std::int64_t ParameterBytes(const std::vector<Parameter>& parameters, at::Device device) {
  return Sum(parameters,
             [&](const at::Tensor& tensor) { return tensor.device() == device ? tensor : at::Tensor(); });
}

std::int64_t TrainedBytes(const std::vector<Parameter>& parameters) {
  std::int64_t bytes = 0;
  for (const Parameter& parameter : parameters) {
    const at::Tensor& tensor = parameter.tensor;
    if (!tensor.requires_grad()) continue;
    const at::ScalarType type = tensor.grad_dtype().value_or(tensor.scalar_type());
    bytes += tensor.numel() * static_cast<std::int64_t>(c10::elementSize(type));
  }
  return bytes;
}

std::int64_t GradientBytes(const std::vector<Parameter>& parameters) {
  return Sum(parameters, [](const at::Tensor& tensor) { return tensor.grad(); });
}

std::int64_t WeightBytes(const Model& model) {
  return ParameterBytes(model.parameters()) + model.TableBytes();
}

}  // namespace medley
