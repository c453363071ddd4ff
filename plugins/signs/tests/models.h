#pragma once

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <memory>
#include <string>
#include <vector>

#include <medley/testing/checks.h>
#include <medley/testing/training_context.h>

#include "network/models.h"

namespace medley_signs {

// A model with some values of its config file changed.
template <typename Net>
class Made {
 public:
  explicit Made(const std::vector<std::pair<std::string, medley::OptionValue>>& changes = {},
                at::Device device = at::kCPU)
      : model_(std::make_unique<Net>(
            medley::ModelContext(medley::check::ConfigOf(Net::kSpec, changes), 1, device, nullptr))) {}
  Net& operator*() const { return *model_; }
  Net* operator->() const { return model_.get(); }

  std::int64_t parameters() const {
    std::int64_t count = 0;
    for (const medley::Parameter& parameter : model_->parameters()) count += parameter.tensor.numel();
    return count;
  }
  std::int64_t parameters(const std::string& prefix) const {
    std::int64_t count = 0;
    for (const medley::Parameter& parameter : model_->parameters()) {
      if (parameter.name.starts_with(prefix)) count += parameter.tensor.numel();
    }
    return count;
  }

 private:
  std::unique_ptr<Net> model_;
};

inline at::Tensor Lengths(const std::vector<std::int64_t>& lengths) { return at::tensor(lengths, at::kLong); }

inline medley::ModelInputs Inputs(const at::Tensor& poses, const at::Tensor& lengths) {
  return {{"poses", poses, ""}, {"lengths", lengths, ""}};
}

// Without dropout and without a graph.
inline at::Tensor LogitsOf(const medley::Model& model, const at::Tensor& poses, const at::Tensor& lengths) {
  const at::NoGradGuard no_grad;
  medley::ForwardContext context;
  return model.Forward(Inputs(poses, lengths), {"logits"}, context).at("logits");
}

}  // namespace medley_signs
