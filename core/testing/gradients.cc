#include <medley/testing/gradients.h>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <cmath>

namespace medley::check {

Gradient TakeGradient(const Model& model) {
  Gradient gradient;
  for (const Parameter& parameter : model.parameters()) {
    const at::Tensor& grad = parameter.tensor.grad();
    gradient.push_back(grad.defined() ? grad.clone() : at::zeros_like(parameter.tensor.detach()));
  }
  ClearGradients(model);
  return gradient;
}

double NormOf(const Gradient& gradient) {
  double squares = 0;
  for (const at::Tensor& one : gradient) squares += one.to(at::kDouble).pow(2).sum().item<double>();
  return std::sqrt(squares);
}

double Distance(const Gradient& got, const Gradient& expected) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    difference += (got[i] - expected[i]).to(at::kDouble).pow(2).sum().item<double>();
    norm += expected[i].to(at::kDouble).pow(2).sum().item<double>();
  }
  return difference == 0 ? 0 : std::sqrt(difference / norm);
}

bool SameBits(const Gradient& got, const Gradient& expected) {
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (!at::equal(got[i], expected[i])) return false;
  }
  return true;
}

}  // namespace medley::check
