#include <medley/checkpoint/saved_tensors.h>

#include <ATen/core/grad_mode.h>

#include <set>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/printable.h>
#include <medley/base/work_progress.h>
#include <medley/model/float_type.h>

namespace medley {
namespace {

namespace fs = std::filesystem;

std::string Describe(const at::Tensor& tensor) { return c10::str(tensor.scalar_type(), " ", tensor.sizes()); }

}  // namespace

SavedTensors::const_iterator FindSaved(const SavedTensors& saved, const Parameter& parameter) {
  const auto found = saved.find(parameter.name);
  return found == saved.end() && !parameter.former_name.empty() ? saved.find(parameter.former_name) : found;
}

void CheckFits(const fs::path& file, const Parameter& parameter, const SavedTensors& saved) {
  const auto found = FindSaved(saved, parameter);
  if (found == saved.end())
    throw InputError(Printable(file) + " has no tensor " + parameter.name +
                     ". Was the model's config changed?");
  const at::Tensor& tensor = found->second;
  // Whether a weight is a master or rounded differs with what a run computes in, and what it trains.
  const bool fits = AtLeastFloat(tensor.scalar_type()) == AtLeastFloat(parameter.tensor.scalar_type());
  if (tensor.sizes() == parameter.tensor.sizes() && fits) return;
  throw InputError(Printable(file) + ": " + parameter.name + " is " + Describe(tensor) + ", the run needs " +
                   Describe(parameter.tensor) + ". Was the model's config changed?");
}

void CheckAll(const fs::path& file, const std::vector<Parameter>& wanted, const SavedTensors& saved) {
  std::set<std::string> used;
  for (const Parameter& parameter : wanted) {
    CheckFits(file, parameter, saved);
    used.insert(FindSaved(saved, parameter)->first);
  }
  for (const auto& [name, tensor] : saved) {
    if (used.count(name) == 0)
      throw InputError(Printable(file) + " has a tensor " + name + ", which this run does not have");
  }
}

void CopySaved(const fs::path& file, const std::vector<Parameter>& wanted, const SavedTensors& saved) {
  const at::NoGradGuard no_grad;
  WorkProgress progress;
  const std::string words = "reading " + DisplayPath(file);
  double done = 0, all = 0;
  for (const Parameter& parameter : wanted) all += static_cast<double>(parameter.tensor.numel());
  for (const Parameter& parameter : wanted) {
    progress.Say(words, done, all);
    parameter.tensor.copy_(FindSaved(saved, parameter)->second);
    done += static_cast<double>(parameter.tensor.numel());
  }
}

}  // namespace medley
