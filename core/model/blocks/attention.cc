#include <medley/model/blocks/attention.h>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include <medley/base/error.h>
#include <medley/model/blocks/half_operators.h>
#include <medley/model/float_type.h>

namespace medley {
namespace {

// [rows, n, parts * width] -> parts of [rows, heads, n, width / heads], without a copy
std::vector<at::Tensor> Heads(const at::Tensor& x, std::int64_t parts, std::int64_t heads) {
  return x.view({x.size(0), x.size(1), parts, heads, x.size(2) / (parts * heads)})
      .permute({2, 0, 3, 1, 4})
      .unbind(0);
}

std::optional<at::Tensor> ForFused(const at::Tensor& mask, std::int64_t queries) {
  if (!mask.defined()) return std::nullopt;
  // The fused kernels take no mask of one line for all queries.
  if (mask.dim() == 4 && mask.size(2) == 1 && queries != 1) return mask.expand({-1, -1, queries, -1});
  return mask;
}

at::Tensor Fused(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& mask) {
  const bool is_half = q.is_cpu() && IsHalf(q.scalar_type());
  if (is_half && HasShortHeads(q.size(3))) return HalfAttention(q, k, v, ForFused(mask, q.size(2)));
  const std::int64_t times = q.size(1) / k.size(1);
  const bool repeats = times > 1 && RepeatsKeys(q.device().type(), q.scalar_type());
  const at::Tensor keys = repeats ? RepeatHeads(k, times) : k, values = repeats ? RepeatHeads(v, times) : v;
  return at::scaled_dot_product_attention(q, keys, values, ForFused(mask, q.size(2)), 0.0,
                                          /*is_causal=*/false, std::nullopt,
                                          /*enable_gqa=*/times > 1 && !repeats);
}

// Keeps queries, keys, values and weights; with dropout the mask and the dropped weights too.
at::Tensor Eager(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& mask,
                 const Dropout& on_weights) {
  const std::int64_t times = q.size(1) / k.size(1);
  const at::Tensor keys = times > 1 ? RepeatHeads(k, times) : k,
                   values = times > 1 ? RepeatHeads(v, times) : v;
  at::Tensor weights = at::matmul(q / std::sqrt(static_cast<double>(q.size(3))), keys.transpose(2, 3));
  weights = mask.defined() ? at::_safe_softmax(weights.add_(mask), -1) : at::softmax(weights, -1);
  return at::matmul(on_weights(weights), values);
}

}  // namespace

at::Tensor Attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& mask,
                  AttentionKind kind, const Dropout& on_weights) {
  if (kind == AttentionKind::kFused && on_weights.drops())
    throw Error(
        "fused attention has no weights to drop; take eager attention, or dropout on hidden states only");
  const at::Tensor out =
      kind == AttentionKind::kFused ? Fused(q, k, v, mask) : Eager(q, k, v, mask, on_weights);
  return out.transpose(1, 2).flatten(2);
}

at::Tensor RepeatHeads(const at::Tensor& x, std::int64_t times) {
  std::vector<std::int64_t> shape = x.sizes().vec();
  shape.insert(shape.begin() + 2, times);
  return x.unsqueeze(2).expand(shape).flatten(1, 2);  // a copy: the kernel takes no expanded heads
}

bool RepeatsKeys(at::DeviceType device, at::ScalarType dtype) {
  return device == at::kCUDA && !IsHalf(dtype);
}

at::Tensor AdditiveMask(const at::Tensor& sees, const at::Tensor& like) {
  return at::zeros(sees.sizes(), like.options().requires_grad(false))
      .masked_fill_(sees.logical_not(), -std::numeric_limits<double>::infinity());
}

Attention::Attention(ParameterSet& set, const std::string& name, const Setting& setting)
    : heads_(setting.heads), kind_(setting.kind) {
  const std::int64_t width = setting.width;
  if (setting.cross) {
    q_ = Linear(set, name + ".q_proj", width, width, true);
    kv_ = Linear(set, name + ".kv_proj", width, 2 * width, true);
  } else {
    qkv_ = Linear(set, name + ".in_proj", width, 3 * width, true);
  }
  out_ = Linear(set, name + ".out_proj", width, width, true, setting.out_gain);
  set.Hidden(name + ".");
}

at::Tensor Attention::Self(const at::Tensor& x, const at::Tensor& mask, const Dropout& on_weights) const {
  const std::vector<at::Tensor> parts = Heads(qkv_(x), 3, heads_);
  return out_(Attend(parts[0], parts[1], parts[2], mask, kind_, on_weights));
}

at::Tensor Attention::Cross(const at::Tensor& x, const at::Tensor& context, const at::Tensor& mask,
                            const Dropout& on_weights) const {
  const at::Tensor q = Heads(q_(x), 1, heads_)[0];
  const std::vector<at::Tensor> kv = Heads(kv_(context), 2, heads_);
  return out_(Attend(q, kv[0], kv[1], mask, kind_, on_weights));
}

}  // namespace medley
