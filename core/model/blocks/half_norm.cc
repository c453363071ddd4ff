#include <medley/model/blocks/half_norm.h>

#include <ATen/Functions.h>
#include <c10/util/BFloat16.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include <medley/model/parallel_for.h>

// Several numbers at once on machines that can: the distribution's baseline has vectors of four. Sanitizers
// cannot choose between versions of a function when a library is loaded.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define MEDLEY_WIDE_VECTORS __attribute__((target_clones("arch=skylake-avx512", "arch=haswell", "default")))
#else
#define MEDLEY_WIDE_VECTORS
#endif

namespace medley {
namespace {

using Half = c10::BFloat16;
constexpr std::int64_t kLanes = 16;

// Numbers of one line of length dim; the buffers have room for one.
struct Line {
  std::int64_t dim = 0;
  const Half* x = nullptr;
  const float* weight = nullptr;
  const float* cos = nullptr;  // null: not turned
  const float* sin = nullptr;
};

float SumOfLanes(const float* lanes) {
  float sum = 0;
  for (std::int64_t lane = 0; lane < kLanes; ++lane) sum += lanes[lane];
  return sum;
}

// Returns 1 / root mean square.
MEDLEY_WIDE_VECTORS
float NormLine(const Line& line, float epsilon, float* __restrict normed, Half* __restrict y) {
  const std::int64_t dim = line.dim, whole = dim / kLanes * kLanes;
  const Half* __restrict x = line.x;
  const float* __restrict weight = line.weight;
  float lanes[kLanes] = {};
  for (std::int64_t i = 0; i < whole; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      const float value = x[i + lane];
      lanes[lane] += value * value;
    }
  }
  for (std::int64_t i = whole; i < dim; ++i) lanes[i - whole] += static_cast<float>(x[i]) * x[i];
  const float scale = 1 / std::sqrt(SumOfLanes(lanes) / static_cast<float>(dim) + epsilon);
  if (line.cos == nullptr) {
    for (std::int64_t i = 0; i < dim; ++i) y[i] = static_cast<float>(x[i]) * scale * weight[i];
    return scale;
  }
  for (std::int64_t i = 0; i < dim; ++i) normed[i] = static_cast<float>(x[i]) * scale * weight[i];
  const std::int64_t half = dim / 2;
  const float* __restrict cos = line.cos, * __restrict sin = line.sin;
  for (std::int64_t i = 0; i < half; ++i) y[i] = normed[i] * cos[i] + normed[i + half] * sin[i];
  for (std::int64_t i = half; i < dim; ++i) y[i] = normed[i] * cos[i] + normed[i - half] * sin[i];
  return scale;
}

// Adds to the weight's gradient.
MEDLEY_WIDE_VECTORS
void NormLineBackward(const Line& line, float scale, const Half* __restrict gradient,
                      float* __restrict turned, Half* __restrict x_gradient,
                      float* __restrict weight_gradient) {
  const std::int64_t dim = line.dim, whole = dim / kLanes * kLanes, half = dim / 2;
  const Half* __restrict x = line.x;
  const float* __restrict weight = line.weight;
  if (line.cos == nullptr) {
    for (std::int64_t i = 0; i < dim; ++i) turned[i] = gradient[i];
  } else {
    const float* __restrict cos = line.cos, * __restrict sin = line.sin;
    for (std::int64_t i = 0; i < half; ++i)
      turned[i] = gradient[i] * cos[i] + gradient[i + half] * sin[i + half];
    for (std::int64_t i = half; i < dim; ++i)
      turned[i] = gradient[i] * cos[i] + gradient[i - half] * sin[i - half];
  }
  float lanes[kLanes] = {};
  for (std::int64_t i = 0; i < whole; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane)
      lanes[lane] += turned[i + lane] * weight[i + lane] * static_cast<float>(x[i + lane]);
  }
  for (std::int64_t i = whole; i < dim; ++i)
    lanes[i - whole] += turned[i] * weight[i] * static_cast<float>(x[i]);
  const float mean = SumOfLanes(lanes) * scale / static_cast<float>(dim);
  for (std::int64_t i = 0; i < dim; ++i) {
    const float normed = static_cast<float>(x[i]) * scale;
    weight_gradient[i] += turned[i] * normed;
    x_gradient[i] = scale * (turned[i] * weight[i] - normed * mean);
  }
}

// The lines of a tensor with what turns each.
class LinesToNorm {
 public:
  LinesToNorm(const at::Tensor& x, const at::Tensor& weight, const RopeTables& turns)
      : weight_(weight.to(at::kFloat)), count_(x.numel() / x.size(-1)) {
    line_ = {.dim = x.size(-1), .x = x.const_data_ptr<Half>(), .weight = weight_.const_data_ptr<float>()};
    if (!turns.cos.defined()) return;
    cos_ = turns.cos.expand(x.sizes());
    sin_ = turns.sin.expand(x.sizes());
    line_.cos = cos_.const_data_ptr<float>();
    line_.sin = sin_.const_data_ptr<float>();
  }

  std::int64_t count() const { return count_; }
  std::int64_t dim() const { return line_.dim; }
  Line operator[](std::int64_t index) const {
    Line line = line_;
    line.x += index * line.dim;
    if (line.cos == nullptr) return line;
    line.cos += Offset(cos_, index);
    line.sin += Offset(sin_, index);
    return line;
  }

 private:
  static std::int64_t Offset(const at::Tensor& turns, std::int64_t index) {
    const std::int64_t heads = turns.size(2), length = turns.size(1);
    return index % heads * turns.stride(2) + index / heads % length * turns.stride(1) +
           index / heads / length * turns.stride(0);
  }

  at::Tensor weight_, cos_, sin_;
  std::int64_t count_;
  Line line_;
};

constexpr std::int64_t kGrain = 1 << 14;  // numbers of which a thread takes at least so many

}  // namespace

NormedLines NormLines(const at::Tensor& x, const at::Tensor& weight, const RopeTables& turns,
                      double epsilon) {
  std::vector<std::int64_t> shape = x.sizes().vec();
  shape.back() = 1;
  NormedLines normed{.y = at::empty_like(x), .scale = at::empty(shape, x.options().dtype(at::kFloat))};
  const LinesToNorm lines(x, weight, turns);
  Half* const y = normed.y.mutable_data_ptr<Half>();
  float* const scale = normed.scale.mutable_data_ptr<float>();
  ParallelFor(0, lines.count(), kGrain / lines.dim() + 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> buffer(static_cast<std::size_t>(lines.dim()));
    for (std::int64_t i = begin; i < end; ++i)
      scale[i] = NormLine(lines[i], static_cast<float>(epsilon), buffer.data(), y + i * lines.dim());
  });
  return normed;
}

NormGradients NormLinesBackward(const at::Tensor& gradient, const at::Tensor& x, const at::Tensor& weight,
                                const at::Tensor& scale, const RopeTables& turns) {
  constexpr std::int64_t kMostParts = 32;
  const LinesToNorm lines(x, weight, turns);
  const std::int64_t dim = lines.dim(), least = kGrain / dim + 1,
                     of_part = std::max(least, (lines.count() + kMostParts - 1) / kMostParts),
                     parts = std::max<std::int64_t>((lines.count() + of_part - 1) / of_part, 1);
  NormGradients gradients{.x = at::empty_like(x), .weight = {}};
  const at::Tensor sums = at::zeros({parts, dim}, x.options().dtype(at::kFloat));
  const Half* const from = gradient.const_data_ptr<Half>();
  Half* const to = gradients.x.mutable_data_ptr<Half>();
  const float* const scales = scale.const_data_ptr<float>();
  float* const sum = sums.mutable_data_ptr<float>();
  ParallelFor(0, parts, 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> buffer(static_cast<std::size_t>(dim));
    for (std::int64_t part = begin; part < end; ++part) {
      for (std::int64_t i = part * of_part; i < std::min((part + 1) * of_part, lines.count()); ++i)
        NormLineBackward(lines[i], scales[i], from + i * dim, buffer.data(), to + i * dim, sum + part * dim);
    }
  });
  gradients.weight = sums.sum(0);
  return gradients;
}

}  // namespace medley
