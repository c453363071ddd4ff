#include <medley/model/products.h>

#include <ATen/Functions.h>
#include <torch/csrc/autograd/custom_function.h>

#include <optional>

namespace medley {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor Wide(const at::Tensor& x) { return x.to(at::kFloat); }
at::Tensor Lines(const at::Tensor& x) { return x.reshape({-1, x.size(-1)}); }

// Keeps what it was given; gradients of weights come in float.
class WideLinear : public torch::autograd::Function<WideLinear> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias) {
    context->save_for_backward({x, weight});
    context->saved_data["bias"] = bias.has_value();
    const at::Tensor y =
        bias ? at::linear(Wide(x), Wide(weight), Wide(*bias)) : at::linear(Wide(x), Wide(weight));
    return y.to(x.scalar_type());
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor gradient = Wide(gradients[0]);
    at::Tensor of_x, of_weight, of_bias;
    if (context->needs_input_grad(0)) of_x = at::matmul(gradient, Wide(saved[1])).to(saved[0].scalar_type());
    if (context->needs_input_grad(1)) of_weight = at::mm(Lines(gradient).t(), Wide(Lines(saved[0])));
    if (context->saved_data["bias"].toBool() && context->needs_input_grad(2))
      of_bias = Lines(gradient).sum(0);
    return {of_x, of_weight, of_bias};
  }
};

// Of as many dimensions each, but for a matrix b behind lines of a.
class WideMatmul : public torch::autograd::Function<WideMatmul> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& a, const at::Tensor& b) {
    context->save_for_backward({a, b});
    return at::matmul(Wide(a), Wide(b)).to(a.scalar_type());
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &a = saved[0], &b = saved[1], gradient = Wide(gradients[0]);
    at::Tensor of_a, of_b;
    if (context->needs_input_grad(0))
      of_a = at::matmul(gradient, Wide(b).transpose(-2, -1)).to(a.scalar_type());
    if (context->needs_input_grad(1)) {
      of_b = b.dim() == 2 ? at::mm(Lines(Wide(a)).t(), Lines(gradient))
                          : at::matmul(Wide(a).transpose(-2, -1), gradient).to(b.scalar_type());
    }
    return {of_a, of_b};
  }
};

}  // namespace

bool GoesWide(const at::Tensor& x) { return x.is_cpu() && x.scalar_type() == at::kHalf; }

at::Tensor LinearProduct(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  const std::optional<at::Tensor> added = bias.defined() ? std::optional(bias) : std::nullopt;
  return GoesWide(x) ? WideLinear::apply(x, weight, added) : at::linear(x, weight, added);
}

at::Tensor MatrixProduct(const at::Tensor& a, const at::Tensor& b) {
  return GoesWide(a) ? WideMatmul::apply(a, b) : at::matmul(a, b);
}

void AddMatrixProduct(at::Tensor& y, const at::Tensor& a, const at::Tensor& b, double scale) {
  GoesWide(a) ? y.add_(MatrixProduct(a, b), scale) : y.addmm_(a, b, /*beta=*/1, /*alpha=*/scale);
}

void MatrixProductTo(at::Tensor& out, const at::Tensor& a, const at::Tensor& b) {
  if (GoesWide(a)) {
    out.copy_(at::mm(Wide(a), Wide(b)));
  } else {
    at::mm_out(out, a, b);
  }
}

}  // namespace medley
