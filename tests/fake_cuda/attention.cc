#include "attention.h"

#include <ATen/Functions.h>
#include <ATen/SDPBackend.h>
#include <torch/csrc/autograd/custom_function.h>

#include <limits>

#include "counters.h"

namespace medley::fake_cuda {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// On the host, keys and values repeated.
struct Heads {
  Heads(const variable_list& lent, bool causal, std::optional<double> scale) : causal(causal), scale(scale) {
    const std::int64_t times = lent[0].size(1) / lent[1].size(1);
    q = OnHost(lent[0]);
    k = OnHost(lent[1]).repeat_interleave(times, 1);
    v = OnHost(lent[2]).repeat_interleave(times, 1);
    if (!lent[3].defined()) return;
    mask = OnHost(lent[3]);
    if (mask->scalar_type() == at::kBool)
      mask = at::zeros(mask->sizes(), q.options())
                 .masked_fill_(mask->logical_not(), -std::numeric_limits<double>::infinity());
  }
  auto Forward() const {
    return at::_scaled_dot_product_flash_attention_for_cpu(q, k, v, 0, causal, mask, scale);
  }
  auto Backward(const at::Tensor& gradient, const at::Tensor& out, const at::Tensor& sums) const {
    return at::_scaled_dot_product_flash_attention_for_cpu_backward(gradient, q, k, v, out, sums, 0, causal,
                                                                    mask, scale);
  }

  at::Tensor q, k, v;
  std::optional<at::Tensor> mask;
  bool causal;
  std::optional<double> scale;
};

// Of repeated heads, of what they were repeated from.
at::Tensor SumOfRepeats(const at::Tensor& gradient, const at::Tensor& of) {
  return gradient.unflatten(1, {of.size(1), -1}).sum(2);
}

struct Attention : torch::autograd::Function<Attention> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& k,
                            const at::Tensor& v, const std::optional<at::Tensor>& mask, bool causal,
                            std::optional<double> scale) {
    Add(Count::kOperators, "aten::scaled_dot_product_attention");
    const InsideOperator inside;
    auto [host_out, host_sums] = Heads({q, k, v, mask.value_or(at::Tensor())}, causal, scale).Forward();
    const at::Tensor out = host_out.to(q.device()), sums = host_sums.to(q.device());
    context->save_for_backward({q, k, v, mask.value_or(at::Tensor()), out, sums});
    context->saved_data["causal"] = causal;
    context->saved_data["scale"] = scale;
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    Add(Count::kOperators, "the backward of attention");
    const InsideOperator inside;
    const Heads heads(saved, context->saved_data["causal"].toBool(),
                      context->saved_data["scale"].toOptional<double>());
    const auto [q, k, v] = heads.Backward(OnHost(gradients[0]), OnHost(saved[4]), OnHost(saved[5]));
    const at::Device device = saved[0].device();
    return {
        q.to(device), SumOfRepeats(k, saved[1]).to(device), SumOfRepeats(v, saved[2]).to(device), {}, {}, {}};
  }
};

// Which sees what behind a prefix: for every query the keys up to as many before the last as it is.
at::Tensor FromLowerRight(const at::Tensor& q, const at::Tensor& k) {
  return at::full({q.size(2), k.size(2)}, -std::numeric_limits<double>::infinity(),
                  at::TensorOptions(q.scalar_type()))
      .triu_(k.size(2) - q.size(2) + 1);
}

}  // namespace

std::int64_t Choose(const at::Tensor& q, const at::Tensor&, const at::Tensor&,
                    const std::optional<at::Tensor>& mask, double, bool, std::optional<double>,
                    bool grouped) {
  const bool is_half = q.scalar_type() == at::kHalf || q.scalar_type() == at::kBFloat16;
  if (is_half && !mask) return static_cast<std::int64_t>(at::SDPBackend::flash_attention);
  return static_cast<std::int64_t>(grouped ? at::SDPBackend::math : at::SDPBackend::efficient_attention);
}

FlashResults Flash(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, double, bool, bool,
                   std::optional<double> scale) {
  return {Attention::apply(q, k, v, FromLowerRight(q, k), false, scale), {}, {}, {}, 0, 0, {}, {}, {}};
}

EfficientResults Efficient(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                           const std::optional<at::Tensor>&, const std::optional<at::Tensor>&,
                           const std::optional<at::Tensor>&, std::optional<c10::SymInt>,
                           std::optional<c10::SymInt>, double, std::int64_t kind, bool,
                           std::optional<double> scale, const std::optional<at::Tensor>&,
                           std::optional<std::int64_t>) {
  TORCH_CHECK(kind == 2 && q.size(2) == k.size(2),
              "the fake GPU knows one kind of mask, and as many heads of keys");
  const at::Tensor query = q.transpose(1, 2), key = k.transpose(1, 2);
  const at::Tensor out =
      Attention::apply(query, key, v.transpose(1, 2), FromLowerRight(query, key), false, scale);
  return {out.transpose(1, 2), {}, {}, {}, 0, 0};
}

at::Tensor Attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                  const std::optional<at::Tensor>& mask, double, bool causal, std::optional<double> scale,
                  bool) {
  return Attention::apply(q, k, v, mask, causal, scale);
}

}  // namespace medley::fake_cuda
