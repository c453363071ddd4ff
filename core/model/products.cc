#include <medley/model/products.h>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <optional>

#include <medley/model/float_type.h>
#include <medley/model/leaf_gradients.h>

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

// a * b of a GPU in the type of the gradients of parameters, added to what there is of it.
at::Tensor LeafProduct(const at::Tensor& leaf, const at::Tensor& a, const at::Tensor& b) {
  const at::ScalarType type = AtLeastFloat(a.scalar_type());
  const bool is_half = type != a.scalar_type();
  if (at::Tensor* const sum = GradientSoFar(leaf)) {
    is_half ? at::addmm_out(*sum, *sum, a, b, type) : sum->addmm_(a, b);
    return {};
  }
  return HandOver(leaf, is_half ? at::mm(a, b, type) : at::mm(a, b));
}

// Linear maps of the same lines, of parameters. `tensors`: x, and each map's weight and, where `biased`,
// bias: autograd takes no undefined tensor.
class LeafLinears : public torch::autograd::Function<LeafLinears> {
 public:
  static variable_list forward(AutogradContext* context, at::TensorList tensors,
                               const std::vector<bool>& biased) {
    const at::Tensor &x = tensors.front(), lines = Lines(x);
    std::vector<std::int64_t> shape = x.sizes().vec();
    variable_list kept = {lines}, leaves, ys;
    std::size_t next = 1;
    for (const bool has_bias : biased) {
      const at::Tensor &weight = tensors[next++], bias = has_bias ? tensors[next++] : at::Tensor();
      const at::Tensor y = has_bias ? at::linear(lines, weight, bias) : at::linear(lines, weight);
      shape.back() = weight.size(0);
      ys.push_back(at::_unsafe_view(y, shape));  // no view: what is returned may be changed in place
      kept.push_back(x.requires_grad() ? weight : at::Tensor());
      leaves.push_back(weight), leaves.push_back(bias);
    }
    context->save_for_backward(std::move(kept));
    context->set_materialize_grads(false);
    context->saved_data["leaves"] = std::move(leaves);
    context->saved_data["shape"] = x.sizes();
    return ys;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const std::vector<at::Tensor> leaves = context->saved_data["leaves"].toTensorVector();
    variable_list found(1);
    at::Tensor of_x;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const at::Tensor &weight = leaves[2 * i], &bias = leaves[2 * i + 1];
      at::Tensor of_weight, of_bias;
      if (gradients[i].defined()) {
        const at::Tensor lines = Lines(gradients[i]);
        if (saved[1 + i].defined())
          of_x.defined() ? of_x.addmm_(lines, saved[1 + i]) : of_x = at::mm(lines, saved[1 + i]);
        if (weight.requires_grad()) of_weight = LeafProduct(weight, lines.t(), saved[0]);
        if (bias.defined() && bias.requires_grad())
          of_bias = HandOver(bias, lines.sum(0, /*keepdim=*/false, AtLeastFloat(lines.scalar_type())));
      }
      found.push_back(of_weight);
      if (bias.defined()) found.push_back(of_bias);
    }
    if (of_x.defined()) found[0] = of_x.view(context->saved_data["shape"].toIntVector());
    found.emplace_back();  // of `biased`
    return found;
  }
};

// Whether they are parameters of a GPU, of which one is trained.
bool AreTrainedOnGpu(const at::Tensor& x, const std::vector<LinearWeights>& maps) {
  const auto is_leaf = [](const at::Tensor& tensor) { return !tensor.defined() || tensor.is_leaf(); };
  return x.is_cuda() && at::GradMode::is_enabled() &&
         std::ranges::all_of(maps,
                             [&](const auto& map) { return is_leaf(map.weight) && is_leaf(map.bias); }) &&
         std::ranges::any_of(maps, [](const auto& map) { return map.weight.requires_grad(); });
}

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
  if (x.is_cuda())
    if (auto made = LinearProducts(x, {{.weight = weight, .bias = bias}}); !made.empty()) return made.front();
  const std::optional<at::Tensor> added = bias.defined() ? std::optional(bias) : std::nullopt;
  return GoesWide(x) ? WideLinear::apply(x, weight, added) : at::linear(x, weight, added);
}

std::vector<at::Tensor> LinearProducts(const at::Tensor& x, const std::vector<LinearWeights>& maps) {
  if (!AreTrainedOnGpu(x, maps)) return {};
  variable_list tensors = {x};
  std::vector<bool> biased;
  for (const auto& [weight, bias] : maps) {
    tensors.push_back(weight), biased.push_back(bias.defined());
    if (bias.defined()) tensors.push_back(bias);
  }
  return LeafLinears::apply(at::TensorList(tensors), biased);  // of a vector apply would see no tensors
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
