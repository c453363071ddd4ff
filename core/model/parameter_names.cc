#include <medley/model/parameter_names.h>

#include <fnmatch.h>

namespace medley {

bool Matches(const std::string& name, const std::string& pattern) {
  return !name.empty() && fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

bool Matches(const Parameter& parameter, const std::string& pattern) {
  return Matches(parameter.name, pattern) || Matches(parameter.former_name, pattern);
}

at::Tensor TensorNamed(const std::vector<Parameter>& parameters, const std::string& name) {
  for (const Parameter& parameter : parameters) {
    if (parameter.name == name) return parameter.tensor;
  }
  return {};
}

}  // namespace medley
