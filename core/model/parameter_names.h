#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include <medley/model/model.h>

namespace medley {

// Whether a name is as the pattern says (shell-style, * and ?); the empty one never is.
bool Matches(const std::string& name, const std::string& pattern);
// Whether its name, or its former one, is.
bool Matches(const Parameter& parameter, const std::string& pattern);
// Undefined where there is none of that name.
at::Tensor TensorNamed(const std::vector<Parameter>& parameters, const std::string& name);

}  // namespace medley
