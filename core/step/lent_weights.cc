#include <medley/step/lent_weights.h>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include <utility>

#include <medley/base/error.h>

namespace medley {

LentWeights::LentWeights(LentWeights&& other) noexcept
    : parameters_(std::exchange(other.parameters_, {})),
      own_(std::exchange(other.own_, {})),
      masters_(other.masters_) {}

// A handle takes another tensor's memory: that is exact and costs nothing. A half type has masters, which are
// rounded anew afterwards.
void LentWeights::Lend(const at::Tensor& parameter, const at::Tensor& values) {
  const at::NoGradGuard no_gradients;
  if (values.sizes() != parameter.sizes())
    throw Error("weights of another shape cannot be lent to a parameter");
  parameters_.push_back(parameter);
  own_.emplace_back();
  if (parameter.scalar_type() != values.scalar_type()) {
    parameter.copy_(values);
    return;
  }
  own_.back() = parameter.detach();
  parameters_.back().set_data(values);
}

LentWeights::~LentWeights() {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (own_[i].defined()) parameters_[i].set_data(own_[i]);
  }
  if (!parameters_.empty()) masters_->Round();
}

}  // namespace medley
