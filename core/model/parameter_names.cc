#include <medley/model/parameter_names.h>

#include <fnmatch.h>

namespace medley {

bool Matches(const Parameter& parameter, const std::string& pattern) {
  const auto matches = [&](const std::string& name) {
    return !name.empty() && fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
  };
  return matches(parameter.name) || matches(parameter.former_name);
}

at::Tensor TensorNamed(const std::vector<Parameter>& parameters, const std::string& name) {
  for (const Parameter& parameter : parameters) {
    if (parameter.name == name) return parameter.tensor;
  }
  return {};
}

}  // namespace medley
