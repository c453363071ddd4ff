#include <medley/model/blocks/attention.h>

#include <ATen/Functions.h>
#include <ATen/SDPBackend.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include <medley/base/error.h>
#include <medley/model/blocks/half_operators.h>
#include <medley/model/float_type.h>
#include <medley/model/products.h>

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

// Times that a head of keys is that of a query.
std::int64_t TimesOf(const at::Tensor& q, const at::Tensor& k) { return q.size(1) / k.size(1); }

// x [rows, heads, n, d] with zeros behind each head, up to a multiple of what is asked.
at::Tensor Padded(const at::Tensor& x, std::int64_t multiple) {
  const std::int64_t lacks = (multiple - x.size(3) % multiple) % multiple;
  return lacks == 0 ? x : at::constant_pad_nd(x, {0, lacks});
}

// A GPU's fused kernels. Which of them a card, a type and a shape have only libtorch knows, so it is asked;
// where it would keep all scores its other ones are called by name.
class OnGpu {
 public:
  OnGpu(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const AttentionMask& mask)
      : q_(q),
        k_(k),
        v_(v),
        hides_(ForFused(mask.additive, q.size(2))),
        is_causal_(mask.causal),
        grouped_(TimesOf(q, k) > 1),
        scale_(1 / std::sqrt(static_cast<double>(q.size(3)))) {}

  at::Tensor operator()() const {
    const auto choice = static_cast<at::SDPBackend>(
        at::_fused_sdp_choice(q_, k_, v_, hides_, 0.0, /*is_causal=*/false, scale_, grouped_));
    if (!is_causal_) return choice == at::SDPBackend::math ? AllHeads() : Public(q_, k_, v_, grouped_);
    // cuDNN's kernels have a causal mask that is right without a prefix only; who may have them may have
    // flash.
    const bool has_flash =
        choice == at::SDPBackend::flash_attention || choice == at::SDPBackend::cudnn_attention;
    if (!has_flash) return AllHeads();
    return q_.size(2) == k_.size(2) ? Public(q_, k_, v_, grouped_) : Flash();
  }

 private:
  at::Tensor Public(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool grouped) const {
    return at::scaled_dot_product_attention(q, k, v, hides_, 0.0, is_causal_, scale_, grouped);
  }
  // Causal from the lower right.
  at::Tensor Flash() const {
    const auto pad = [](const at::Tensor& x) { return Padded(x, 8); };
    return Cut(std::get<0>(at::_scaled_dot_product_flash_attention(pad(q_), pad(k_), pad(v_), 0.0,
                                                                   /*is_causal=*/true,
                                                                   /*return_debug_mask=*/false, scale_)));
  }
  // The kernels that take float, any mask, older cards and wide heads want as many heads of keys as of
  // queries, and widths that they can read at once.
  at::Tensor AllHeads() const {
    const std::int64_t times = TimesOf(q_, k_), multiple = IsHalf(q_.scalar_type()) ? 8 : 4;
    const auto whole = [&](const at::Tensor& x) {
      return Padded(times > 1 ? RepeatHeads(x, times) : x, multiple);
    };
    const at::Tensor q = Padded(q_, multiple), k = whole(k_), v = whole(v_);
    return Cut(is_causal_ ? Efficient(q, k, v) : Public(q, k, v, /*grouped=*/false));
  }
  at::Tensor Cut(const at::Tensor& padded) const {
    return padded.size(3) == q_.size(3) ? padded : padded.narrow(3, 0, q_.size(3));
  }
  at::Tensor Efficient(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) const {
    constexpr std::int64_t kFromLowerRight = 2;
    const bool has_graph =
        at::GradMode::is_enabled() && (q.requires_grad() || k.requires_grad() || v.requires_grad());
    const auto lines = [](const at::Tensor& x) { return x.transpose(1, 2); };
    return lines(std::get<0>(at::_efficient_attention_forward(
        lines(q), lines(k), lines(v), std::nullopt, std::nullopt, std::nullopt, std::nullopt, std::nullopt,
        0.0, kFromLowerRight, /*compute_log_sumexp=*/has_graph, scale_)));
  }

  const at::Tensor &q_, &k_, &v_;
  std::optional<at::Tensor> hides_;
  bool is_causal_, grouped_;
  double scale_;
};

at::Tensor Fused(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const AttentionMask& mask) {
  if (q.is_cuda()) return OnGpu(q, k, v, mask)();
  const std::optional<at::Tensor> hides = ForFused(mask.additive, q.size(2));
  if (GoesWide(q) || (IsHalf(q.scalar_type()) && HasShortHeads(q.size(3))))
    return HalfAttention(q, k, v, hides);
  return at::scaled_dot_product_attention(q, k, v, hides, 0.0, /*is_causal=*/false, std::nullopt,
                                          /*enable_gqa=*/TimesOf(q, k) > 1);
}

// Keeps queries, keys, values and weights; with dropout the mask and the dropped weights too.
at::Tensor Eager(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& mask,
                 const Dropout& on_weights) {
  const std::int64_t times = TimesOf(q, k);
  const at::Tensor keys = times > 1 ? RepeatHeads(k, times) : k,
                   values = times > 1 ? RepeatHeads(v, times) : v;
  at::Tensor weights = MatrixProduct(q / std::sqrt(static_cast<double>(q.size(3))), keys.transpose(2, 3));
  weights = mask.defined() ? at::_safe_softmax(weights.add_(mask), -1) : at::softmax(weights, -1);
  return MatrixProduct(on_weights(weights), values);
}

}  // namespace

AttentionMask AttentionMask::Causal(std::int64_t n, std::int64_t m, const at::TensorOptions& options,
                                    AttentionKind kind) {
  AttentionMask mask;
  mask.causal = kind == AttentionKind::kFused && options.device().is_cuda();
  if (!mask.causal)
    mask.additive = at::full({n, m}, -std::numeric_limits<double>::infinity(), options).triu_(m - n + 1);
  return mask;
}

at::Tensor Attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const AttentionMask& mask,
                  AttentionKind kind, const Dropout& on_weights) {
  if (kind == AttentionKind::kFused && on_weights.drops())
    throw Error(
        "fused attention has no weights to drop; take eager attention, or dropout on hidden states only");
  const at::Tensor out =
      kind == AttentionKind::kFused ? Fused(q, k, v, mask) : Eager(q, k, v, mask.additive, on_weights);
  return out.transpose(1, 2).flatten(2);
}

at::Tensor RepeatHeads(const at::Tensor& x, std::int64_t times) {
  std::vector<std::int64_t> shape = x.sizes().vec();
  shape.insert(shape.begin() + 2, times);
  return x.unsqueeze(2).expand(shape).flatten(1, 2);  // a copy: the kernel takes no expanded heads
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

at::Tensor Attention::Self(const at::Tensor& x, const AttentionMask& mask, const Dropout& on_weights) const {
  const std::vector<at::Tensor> parts = Heads(qkv_(x), 3, heads_);
  return out_(Attend(parts[0], parts[1], parts[2], mask, kind_, on_weights));
}

at::Tensor Attention::Cross(const at::Tensor& x, const at::Tensor& context, const AttentionMask& mask,
                            const Dropout& on_weights) const {
  const at::Tensor q = Heads(q_(x), 1, heads_)[0];
  const std::vector<at::Tensor> kv = Heads(kv_(context), 2, heads_);
  return out_(Attend(q, kv[0], kv[1], mask, kind_, on_weights));
}

}  // namespace medley
