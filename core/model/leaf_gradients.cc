#include <medley/model/leaf_gradients.h>

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/graph_task.h>
#include <torch/csrc/autograd/variable.h>

#include <utility>

namespace medley {
namespace {

// A backward of chosen inputs says of each node what it wants of it.
bool SumsInto(const at::Tensor& tensor) {
  const auto* const chosen = torch::autograd::get_current_graph_task_exec_info();
  return tensor.is_leaf() && !at::GradMode::is_enabled() && (chosen == nullptr || chosen->empty());
}

}  // namespace

at::Tensor* GradientSoFar(const at::Tensor& leaf) {
  return SumsInto(leaf) && leaf.grad().defined() ? &leaf.mutable_grad() : nullptr;
}

at::Tensor HandOver(const at::Tensor& leaf, at::Tensor gradient) {
  if (!SumsInto(leaf)) return gradient;
  if (at::Tensor* const sum = GradientSoFar(leaf)) {
    sum->add_(gradient);
    return {};
  }
  leaf.mutable_grad() = std::move(gradient);
  if (const auto& hook = torch::autograd::impl::post_acc_grad_hooks(leaf)) (*hook)(leaf);
  return {};
}

}  // namespace medley
