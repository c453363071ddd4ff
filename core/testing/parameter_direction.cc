#include <medley/testing/parameter_direction.h>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <cmath>

namespace medley::check {

ParameterDirection::ParameterDirection(const Model& model, std::uint64_t seed) {
  constexpr double kLeast = 0.01;  // of a parameter that is 0
  at::Generator generator = at::detail::createCPUGenerator(seed);
  for (const Parameter& parameter : model.parameters()) {
    const at::Tensor value = parameter.tensor.detach();
    One& one = all_.emplace_back(One{parameter.tensor, {}, {}});
    if (!parameter.tensor.requires_grad() || value.numel() == 0) continue;
    one.value = value.clone();
    const double size = std::max(kLeast, value.square().mean().sqrt().item<double>());
    one.direction = at::empty_like(value).normal_(0, size, generator);
  }
}

void ParameterDirection::Move(double step) {
  for (const One& one : all_) {
    if (!one.value.defined()) continue;
    at::Tensor tensor = one.tensor.detach();
    tensor.copy_(one.value);
    if (step != 0) tensor.add_(one.direction, step);
  }
}

std::pair<double, double> ParameterDirection::Along(const Gradient& gradient) const {
  double along = 0, size = 0;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    if (!all_[i].value.defined()) continue;
    const at::Tensor parts = gradient[i].mul(all_[i].direction);
    along += parts.sum().item<double>(), size += parts.square().sum().item<double>();
  }
  return {along, std::sqrt(size)};
}

}  // namespace medley::check
