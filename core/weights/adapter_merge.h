#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <vector>

#include <medley/model/adapters.h>
#include <medley/model/model.h>

namespace medley {

// A parameter's values by its name; undefined where there is none.
using FindTensor = std::function<at::Tensor(const std::string&)>;

// The values of a parameter with what adapters add to them: W + scale B A, and changed rows; undefined where
// they add nothing. Made in float at least, where the parameter lies, and rounded by whoever takes them.
at::Tensor Merged(const std::string& name, const FindTensor& find, const Adapters& adapters);

// Merges the adapters of a model into its other parameters, one after the other, each rounded once. Returns
// those; the adapters then add nothing.
std::vector<Parameter> MergeAdapters(const std::vector<Parameter>& parameters, const Adapters& adapters);

}  // namespace medley
