#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <vector>

#include <medley/config/optimizer_config.h>

namespace medley {

// How AdamW's two moments of a parameter are to be kept.
struct KeptMoments {
  std::string parameter, former_name;
  MomentsKind kind = MomentsKind::kFloat;
  at::IntArrayRef shape;
};

// Of saved tensors by name: see Optimizer::ConvertState.
std::vector<std::string> ConvertMoments(const std::vector<KeptMoments>& kept,
                                        std::map<std::string, at::Tensor>& saved);

}  // namespace medley
