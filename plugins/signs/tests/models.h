#pragma once

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <vector>

#include <medley/testing/made_model.h>
#include <medley/testing/training_context.h>

#include "network/models.h"

namespace medley_signs {

using medley::check::Made;

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
