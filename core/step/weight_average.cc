#include <medley/step/weight_average.h>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include <utility>

namespace medley {

// A handle takes another tensor's memory: that is exact and costs nothing. A half type has masters, which are
// rounded anew afterwards.
AveragedWeights::AveragedWeights(std::vector<at::Tensor> parameters, const std::vector<at::Tensor>& averages,
                                 const MasterWeights& masters)
    : parameters_(std::move(parameters)), own_(parameters_.size()), masters_(masters) {
  const at::NoGradGuard no_gradients;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].scalar_type() != averages[i].scalar_type()) {
      parameters_[i].copy_(averages[i]);
      continue;
    }
    own_[i] = parameters_[i].detach();
    parameters_[i].set_data(averages[i]);
  }
}

AveragedWeights::~AveragedWeights() {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (own_[i].defined()) parameters_[i].set_data(own_[i]);
  }
  if (!parameters_.empty()) masters_.Round();
}

}  // namespace medley
