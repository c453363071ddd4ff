#include <medley/step/muon.h>

#include <ATen/core/Tensor.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/lerp.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/mm.h>

#include <algorithm>
#include <cmath>
#include <utility>

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

}  // namespace

Muon::Muon(std::int64_t largest, const at::TensorOptions& options)
    : x_(at::empty({largest}, options)),
      gram_(at::empty({largest}, options)),
      polynomial_(at::empty({largest}, options)),
      norm_(at::empty({}, options)),
      kept_(at::empty({}, options)) {}

std::int64_t Muon::BytesFor(std::int64_t largest, at::ScalarType type) {
  return kScratches * largest * static_cast<std::int64_t>(c10::elementSize(type));
}

void Muon::Update(const at::Tensor& weights, const at::Tensor& gradient, const at::Tensor& momentum,
                  const Rates& rates) {
  momentum.lerp_(gradient, 1 - rates.momentum);
  at::Tensor ahead = Part(x_, weights.sizes());
  at::lerp_out(ahead, gradient, momentum, rates.momentum);
  const std::int64_t rows = weights.size(0), columns = weights.numel() / rows;
  const at::Tensor direction = Orthogonal(rows, columns);
  if (rates.weight_decay > 0) weights.mul_(kept_.fill_(1 - rates.learning_rate * rates.weight_decay));
  const double scale = kRmsOfAdamW * std::sqrt(static_cast<double>(std::max(rows, columns)));
  weights.add_(direction.view(weights.sizes()), -rates.learning_rate * scale);
}

// x <- a x + (b x x^T + c (x x^T)^2) x of what lies in x_, the shorter side in front: gram matrices are then
// small.
at::Tensor Muon::Orthogonal(std::int64_t rows, std::int64_t columns) {
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

}  // namespace medley
