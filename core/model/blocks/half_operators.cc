#include <medley/model/blocks/half_operators.h>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <torch/csrc/autograd/custom_function.h>

#include <medley/model/blocks/half_norm.h>
#include <medley/model/products.h>

namespace medley {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

bool GoesByLines(const at::Tensor& x) { return x.is_cpu() && x.scalar_type() == at::kBFloat16; }

// The other half of each line.
at::Tensor Swapped(const at::Tensor& x) { return x.roll(x.size(-1) / 2, -1); }

class HalfNorm : public torch::autograd::Function<HalfNorm> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const RopeTables& turns, double epsilon) {
    const at::Tensor whole = x.contiguous();
    const auto [y, scale] = GoesByLines(x) ? NormLines(whole, weight, turns, epsilon)
                                           : NormByOperators(whole, weight, turns, epsilon);
    context->save_for_backward({whole, weight, scale, turns.cos, turns.sin});
    return y;
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const RopeTables turns{saved[3], saved[4]};
    const at::Tensor gradient = gradients[0].contiguous();
    const auto [x, weight] = GoesByLines(gradient)
                                 ? NormLinesBackward(gradient, saved[0], saved[1], saved[2], turns)
                                 : NormBackwardByOperators(gradient, saved[0], saved[1], saved[2], turns);
    return {x, weight, {}, {}};
  }
};

class HalfGated : public torch::autograd::Function<HalfGated> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& gate, const at::Tensor& up) {
    context->save_for_backward({gate, up});
    return at::silu(gate).mul_(up);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &gate = saved[0], &up = saved[1], &gradient = gradients[0];
    at::Tensor to_gate = at::silu_backward(gradient * up, gate);
    return {std::move(to_gate), at::silu(gate).mul_(gradient)};
  }
};

// [rows, heads, n, d] whose heads of a position lie side by side.
at::Tensor Like(const at::Tensor& x) {
  return at::empty({x.size(0), x.size(2), x.size(1), x.size(3)}, x.options()).transpose(1, 2);
}

class ShortHeads : public torch::autograd::Function<ShortHeads> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& k,
                            const at::Tensor& v, const std::optional<at::Tensor>& mask) {
    const auto wide = [&](const at::Tensor& x) { return GoesWide(q) ? x.to(at::kFloat) : x; };
    auto [out, sums] = at::_scaled_dot_product_flash_attention_for_cpu(
        wide(q), wide(k), wide(v), 0.0, /*is_causal=*/false, mask ? std::optional(wide(*mask)) : mask);
    out = out.to(q.scalar_type());
    context->save_for_backward({q, k, v, out, sums, mask.value_or(at::Tensor())});
    return out;
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &q = saved[0], &k = saved[1], &v = saved[2], &mask = saved[5];
    const at::Tensor to_q = Like(q), to_k = Like(k), to_v = Like(v);
    for (std::int64_t row = 0; row < q.size(0); ++row) {
      const auto of = [&](const at::Tensor& x) { return x.narrow(0, row, 1); };
      const auto wide = [&](const at::Tensor& x) { return of(x).to(at::kFloat); };
      std::optional<at::Tensor> hides;
      if (mask.defined()) hides = mask.dim() == 4 && mask.size(0) > 1 ? wide(mask) : mask.to(at::kFloat);
      const auto [row_q, row_k, row_v] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
          wide(gradients[0]), wide(q), wide(k), wide(v), wide(saved[3]), of(saved[4]), 0.0,
          /*is_causal=*/false, hides);
      of(to_q).copy_(row_q), of(to_k).copy_(row_k), of(to_v).copy_(row_v);
    }
    return {to_q, to_k, to_v, {}};
  }
};

class HalfLookup : public torch::autograd::Function<HalfLookup> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& table, const at::Tensor& ids) {
    context->save_for_backward({ids});
    context->saved_data["words"] = table.size(0);
    return at::embedding(table, ids);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const at::Tensor given = context->get_saved_variables()[0];
    const at::Tensor ids = given.is_cuda() ? PaddedLine(given) : given.flatten();
    at::Tensor gradient = gradients[0].to(at::kFloat).view({given.numel(), -1});
    if (ids.numel() > given.numel())
      gradient = at::constant_pad_nd(gradient, {0, 0, 0, ids.numel() - given.numel()});
    return {
        at::embedding_dense_backward(gradient, ids, context->saved_data["words"].toInt(), /*padding_idx=*/-1,
                                     /*scale_grad_by_freq=*/false),
        {}};
  }
};

}  // namespace

at::Tensor HalfRmsNorm(const at::Tensor& x, const at::Tensor& weight, double epsilon) {
  return HalfNorm::apply(x, weight, RopeTables(), epsilon);
}

at::Tensor HalfNormRope(const at::Tensor& x, const at::Tensor& weight, const RopeTables& turns,
                        double epsilon) {
  return HalfNorm::apply(x, weight, turns, epsilon);
}

at::Tensor HalfSwiGlu(const at::Tensor& gate, const at::Tensor& up) { return HalfGated::apply(gate, up); }

at::Tensor HalfEmbedding(const at::Tensor& table, const at::Tensor& ids) {
  return HalfLookup::apply(table, ids);
}

at::Tensor HalfAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                         const std::optional<at::Tensor>& mask) {
  return ShortHeads::apply(q, k, v, mask);
}

NormedLines NormByOperators(const at::Tensor& x, const at::Tensor& weight, const RopeTables& turns,
                            double epsilon) {
  const at::Tensor wide = x.to(at::kFloat);
  const at::Tensor scale = at::rsqrt(wide.square().mean(-1, /*keepdim=*/true) + epsilon);
  at::Tensor normed = wide * scale * weight.to(at::kFloat);
  if (turns.cos.defined()) normed = at::addcmul(normed * turns.cos, Swapped(normed), turns.sin);
  return {.y = normed.to(x.scalar_type()), .scale = scale};
}

NormGradients NormBackwardByOperators(const at::Tensor& gradient, const at::Tensor& x,
                                      const at::Tensor& weight, const at::Tensor& scale,
                                      const RopeTables& turns) {
  at::Tensor of_normed = gradient.to(at::kFloat);
  if (turns.cos.defined()) of_normed = of_normed * turns.cos + Swapped(of_normed * turns.sin);
  const at::Tensor normed = x.to(at::kFloat) * scale, weighted = of_normed * weight.to(at::kFloat);
  const at::Tensor mean = (weighted * normed).mean(-1, /*keepdim=*/true);
  return {.x = (scale * (weighted - normed * mean)).to(x.scalar_type()),
          .weight = (of_normed * normed).flatten(0, -2).sum(0)};
}

}  // namespace medley
