#include <medley/step/master_weights.h>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_copy.h>

#include <algorithm>

#include <medley/model/float_type.h>

namespace medley {

MasterWeights::MasterWeights(const std::vector<Parameter>& parameters, const std::vector<Parameter>& start)
    : masters_(parameters) {
  for (Parameter& master : masters_) {
    const at::Tensor parameter = master.tensor;
    const at::ScalarType wide = AtLeastFloat(parameter.scalar_type());
    if (!parameter.requires_grad() || wide == parameter.scalar_type()) continue;
    const auto given = std::find_if(start.begin(), start.end(),
                                    [&](const Parameter& value) { return value.name == master.name; });
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

}  // namespace medley
