#include <ATen/core/Tensor.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/lerp.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/mm.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include <medley/model/float_type.h>
#include <medley/update/rule.h>

namespace medley {
namespace {

constexpr std::int64_t kScratches = 3;
constexpr int kSteps = 5;
// Of Jordan's quintic, the steepest at 0 that leaves singular values between 0.7 and 1.2.
constexpr double kFirst = 3.4445, kThird = -4.7750, kFifth = 2.0315;
constexpr double kSmallestNorm = 1e-7;
constexpr double kRmsOfAdamW = 0.2;

at::Tensor Part(const at::Tensor& scratch, at::IntArrayRef shape) {
  return scratch.narrow(0, 0, c10::multiply_integers(shape)).view(shape);
}

// Muon (Jordan 2024, https://kellerjordan.github.io/posts/muon): a matrix moves along the mean of its
// gradients, looked ahead (Nesterov) and made nearly orthogonal: five Newton-Schulz steps bring its singular
// values near 1. Scaled so that a number moves as far as AdamW moves one (Liu et al. 2025, arXiv 2502.16982),
// so it takes AdamW's learning rate. Decoupled weight decay. A tensor [rows, ...] counts as [rows, the rest].
//
// Computes in the type of the masters, in three scratch matrices.
class Muon : public UpdateRule {
 public:
  explicit Muon(const OptimizerConfig& config) : momentum_(config.momentum) {}

  std::string name() const override { return "muon"; }
  std::vector<StateTensor> State() const override { return {{kMean}}; }

  bool TakesUnasked(const Parameter& parameter) const override {
    return parameter.hidden && parameter.tensor.dim() >= 2;
  }
  std::string Refuses(const Parameter& parameter) const override {
    return parameter.tensor.dim() >= 2 ? "" : "which is no matrix, and Muon updates matrices";
  }
  std::string WhyWhole() const override { return "Muon, which makes each of them orthogonal as a whole"; }

  std::int64_t ScratchBytes(std::int64_t largest, const at::TensorOptions& masters) const override {
    return kScratches * largest * static_cast<std::int64_t>(masters.dtype().itemsize());
  }
  void MakeScratch(std::int64_t largest, const at::TensorOptions& masters) override {
    for (at::Tensor* matrix : {&x_, &gram_, &polynomial_}) *matrix = at::empty({largest}, masters);
    for (at::Tensor* scalar : {&norm_, &kept_}) *scalar = at::empty({}, masters);
  }

  void Update(UpdatedGroup& group, const Rates& rates) override {
    for (const Updated& updated : group.parameters) UpdateOne(updated, rates);
  }

  GradientMeans Read(const std::string& parameter, const SavedTensors& saved) const override {
    return {.mean = saved.at(parameter + kMean)};
  }
  bool Write(const std::string& parameter, const GradientMeans& means, SavedTensors& saved) const override {
    saved[parameter + kMean] = means.mean.to(AtLeastFloat(means.mean.scalar_type()));
    return true;
  }

 private:
  static constexpr const char* kMean = ".momentum";

  void UpdateOne(const Updated& updated, const Rates& rates) {
    const at::Tensor &weights = updated.weights, &momentum = updated.state->front();
    momentum.lerp_(updated.gradients, 1 - momentum_);
    at::Tensor ahead = Part(x_, weights.sizes());
    at::lerp_out(ahead, updated.gradients, momentum, momentum_);
    const std::int64_t rows = weights.size(0), columns = weights.numel() / rows;
    const at::Tensor direction = Orthogonal(rows, columns);
    if (rates.weight_decay > 0) weights.mul_(kept_.fill_(1 - rates.learning_rate * rates.weight_decay));
    const double scale = kRmsOfAdamW * std::sqrt(static_cast<double>(std::max(rows, columns)));
    weights.add_(direction.view(weights.sizes()), -rates.learning_rate * scale);
  }

  // x <- a x + (b x x^T + c (x x^T)^2) x of what lies in x_, the shorter side in front: gram matrices are
  // then small.
  at::Tensor Orthogonal(std::int64_t rows, std::int64_t columns) {
    at::Tensor x = Part(x_, {rows, columns});
    at::linalg_vector_norm_out(norm_, x, 2);
    x.div_(norm_.clamp_min_(kSmallestNorm));
    const bool is_tall = rows > columns;
    if (is_tall) x = x.t();
    const std::int64_t side = x.size(0);
    for (int step = 0; step < kSteps; ++step) {
      at::Tensor gram = Part(gram_, {side, side}), polynomial = Part(polynomial_, {side, side}),
                 next = Part(gram_, x.sizes());
      at::mm_out(gram, x, x.t());
      at::addmm_out(polynomial, gram, gram, gram, /*beta=*/kThird, /*alpha=*/kFifth);
      at::addmm_out(next, x, polynomial, x, /*beta=*/kFirst);  // over the gram matrix, which is done with
      x = next;
      std::swap(x_, gram_);
    }
    return is_tall ? x.t() : x;
  }

  const double momentum_;
  at::Tensor x_, gram_, polynomial_;  // [largest]
  at::Tensor norm_, kept_;            // scalars: a number would be allocated at each use
};

}  // namespace

std::unique_ptr<UpdateRule> MakeMuon(const OptimizerConfig& config, const Parameter& /*parameter*/) {
  return std::make_unique<Muon>(config);
}

}  // namespace medley
