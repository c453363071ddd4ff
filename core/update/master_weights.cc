#include <medley/update/master_weights.h>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_copy.h>

#include <algorithm>
#include <utility>

#include <medley/base/error.h>
#include <medley/model/float_type.h>

namespace medley {

MasterWeights::MasterWeights(const std::vector<Parameter>& parameters, const std::vector<Parameter>& start)
    : masters_(parameters) {
  for (Parameter& master : masters_) {
    const at::Tensor parameter = master.tensor;
    const at::ScalarType wide = AtLeastFloat(parameter.scalar_type());
    if (!parameter.requires_grad() || wide == parameter.scalar_type()) continue;
    const auto given = std::ranges::find(start, master.name, &Parameter::name);
    const at::Tensor& value = given == start.end() ? parameter : given->tensor;
    master.tensor = value.detach().to(parameter.device(), wide);
    rounded_.push_back(parameter);
    wide_.push_back(master.tensor);
  }
}

std::int64_t MasterWeights::bytes() const {
  std::int64_t bytes = 0;
  for (const at::Tensor& master : wide_) bytes += static_cast<std::int64_t>(master.nbytes());
  return bytes;
}

void MasterWeights::Round() const {
  if (rounded_.empty()) return;
  const at::NoGradGuard no_gradients;
  at::_foreach_copy_(rounded_, wide_);
}

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
