#include <medley/weights/adapter_merge.h>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <medley/base/work_progress.h>
#include <medley/model/parameter_names.h>

namespace medley {

at::Tensor Merged(const std::string& name, const FindTensor& find, const Adapters& adapters) {
  const at::NoGradGuard no_grad;
  if (!name.ends_with(".weight")) return {};
  const auto adapter = [&](const char* end) { return find(AdapterOf(name, end)); };
  const at::Tensor a = adapter(kLoraA), b = adapter(kLoraB), changes = adapter(kRowChanges);
  if (!a.defined() && !changes.defined()) return {};
  const at::Tensor value = find(name).detach();
  const at::ScalarType type = at::promoteTypes(value.scalar_type(), at::kFloat);
  at::Tensor merged = value.to(type, /*non_blocking=*/false, /*copy=*/true);
  if (a.defined()) merged.addmm_(b.to(merged.options()), a.to(merged.options()), 1, adapters.scale());
  if (changes.defined())
    merged.index_add_(0, at::tensor(adapters.tokens, at::kLong).to(merged.device()),
                      changes.to(merged.options()));
  return merged;
}

std::vector<Parameter> MergeAdapters(const std::vector<Parameter>& parameters, const Adapters& adapters) {
  const at::NoGradGuard no_grad;
  const auto find = [&](const std::string& name) { return TensorNamed(parameters, name); };
  std::vector<Parameter> merged;
  WorkProgress progress;
  double done = 0;
  for (const Parameter& parameter : parameters) {
    progress.Say("merging the adapters", done++, static_cast<double>(parameters.size()));
    if (IsAdapter(parameter.name)) continue;
    const at::Tensor values = Merged(parameter.name, find, adapters);
    if (values.defined()) parameter.tensor.detach().copy_(values);
    merged.push_back(parameter);
  }
  for (const Parameter& parameter : parameters) {
    if (parameter.name.ends_with(kLoraB) || parameter.name.ends_with(kRowChanges))
      parameter.tensor.detach().zero_();
  }
  return merged;
}

}  // namespace medley
