#include <medley/model/blocks/activation.h>

#include <ATen/Functions.h>
#include <torch/csrc/autograd/custom_function.h>

#include <medley/base/error.h>
#include <medley/model/float_type.h>

namespace medley {
namespace {

constexpr double kSlope = 1.702;

// In float at least, and rounded once.
class QuickGelu : public torch::autograd::Function<QuickGelu> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x) {
    context->save_for_backward({x});
    const at::Tensor wide = x.to(AtLeastFloat(x.scalar_type()));
    return (wide * kSlope).sigmoid_().mul_(wide).to(x.scalar_type());
  }
  // s + 1.702 x s (1 - s)
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const at::Tensor x = context->get_saved_variables()[0].detach();
    const at::ScalarType type = AtLeastFloat(x.scalar_type());
    const at::Tensor wide = x.to(type), share = (wide * kSlope).sigmoid_();
    at::Tensor slope = (1 - share).mul_(wide).mul_(kSlope).add_(1).mul_(share);
    return {slope.mul_(gradients[0].to(type)).to(x.scalar_type())};
  }
};

}  // namespace

at::Tensor Activate(const at::Tensor& x, Activation activation) {
  switch (activation) {
    case Activation::kRelu:
      return at::relu(x);
    case Activation::kGelu:
      return at::gelu(x);
    case Activation::kTanhGelu:
      return at::gelu(x, "tanh");
    case Activation::kQuickGelu:
      return QuickGelu::apply(x);
  }
  throw Error("an activation that does not exist");
}

}  // namespace medley
