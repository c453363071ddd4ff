#include <medley/step/roots.h>

#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/autograd.h>

#include <medley/base/error.h>

namespace medley {

void TermSums::Add(const std::string& task, const std::string& term, const at::Tensor& sum) {
  at::Tensor& total = totals_[{task, term}];
  if (!total.defined()) total = at::zeros({}, at::TensorOptions().dtype(at::kDouble).device(device_));
  total.add_(sum.detach().reshape({}));
}

at::Tensor TermSums::Read(StepLosses& losses, const at::Tensor& along) const {
  std::vector<at::Tensor> tensors;
  for (const auto& [names, total] : totals_) tensors.push_back(total.view({1}));
  if (along.defined()) tensors.push_back(along);
  if (tensors.empty()) return {};
  const at::Tensor values = at::cat(tensors).cpu();
  const double* value = values.const_data_ptr<double>();
  for (const auto& [names, total] : totals_) losses[names.first][names.second].sum = *value++;
  return along.defined() ? values.slice(0, static_cast<std::int64_t>(totals_.size())) : along;
}

void Roots::Add(const Sums& sums, const PassInfo& pass) {
  for (const auto& [term, sum] : sums) {
    sums_.Add(task_, term, sum);
    const TermLoss& loss = losses_.at(term);
    if (!pass.HasGradient() && loss.weight > 0) {
      throw InputError("tasks." + task_ + ".terms." + term + ": nothing of the term '" + term +
                       "' would be learned, for its pass '" + pass.name +
                       "' has no gradient; expected the weight 0");
    }
    if (!sum.requires_grad() || loss.count == 0 || loss.weight == 0) continue;
    Add(sum, at::full_like(sum.detach(), scale_ * (loss.weight / static_cast<double>(loss.count))));
  }
}

void Roots::Add(const at::Tensor& carry, const at::Tensor& gradient) {
  if (!carry.requires_grad() || !gradient.defined()) return;
  roots_.push_back(carry);
  gradients_.push_back(gradient);
}

void Roots::Backward() {
  observer_.BackwardBegins();
  if (!roots_.empty()) torch::autograd::backward(roots_, gradients_);
  observer_.BackwardEnds();
  roots_.clear();
  gradients_.clear();
}

}  // namespace medley
