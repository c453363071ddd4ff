#include <medley/memory/attention_workspace.h>

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>

#include <medley/memory/cpu_allocator.h>
#include <medley/model/blocks/half_operators.h>
#include <medley/model/float_type.h>

namespace medley {
namespace {

constexpr std::int64_t kMostPositions = 1024;              // longer ones are cut into pieces of at most 768
constexpr std::int64_t kMostDim = 256;                     // what a thread has of a head grows with its width
constexpr std::int64_t kFewHeads = 4;                      // of which libtorch packs keys as of more
constexpr std::int64_t kMostWork = std::int64_t{1} << 27;  // products of two numbers: a tenth of a second

// What is there at the widest moment of fn beside what it returns.
template <typename Fn>
std::int64_t Beside(const Fn& fn) {
  const CpuPeakScope own;
  const auto results = fn();
  return ReadCpuMemory().peak - ReadCpuMemory().now;
}

// Zeros in the layout that a projection gives: the heads of a position side by side.
at::Tensor Heads(std::int64_t rows, std::int64_t heads, std::int64_t positions, std::int64_t dim,
                 at::ScalarType dtype) {
  return at::zeros({rows, positions, heads, dim}, dtype).transpose(1, 2);
}

class Fused {
 public:
  Fused(const AttentionShape& s, at::ScalarType dtype)
      : q_(Heads(s.rows, s.heads, s.queries, s.head_dim, dtype)),
        k_(Heads(s.rows, s.kv_heads, s.seen, s.head_dim, dtype)) {}
  std::int64_t Forward() const {
    return Beside([&] { return Run(); });
  }
  std::int64_t Backward() const {
    const auto [out, sums] = Run();
    return Beside([&, &out = out, &sums = sums] {
      return at::_scaled_dot_product_flash_attention_for_cpu_backward(out, q_, k_, k_, out, sums, 0.0,
                                                                      /*is_causal=*/false);
    });
  }

 private:
  std::tuple<at::Tensor, at::Tensor> Run() const {
    return at::_scaled_dot_product_flash_attention_for_cpu(q_, k_, k_, 0.0, /*is_causal=*/false);
  }

  at::Tensor q_, k_;
};

// A half type's short heads go back in float, row by row, which their part of a footprint counts
// (HalfAttentionFloats).
AttentionWorkspace RunFused(const AttentionShape& shape, at::ScalarType dtype) {
  const Fused attention(shape, dtype);
  const bool goes_in_float = IsHalf(dtype) && HasShortHeads(shape.head_dim);
  return {.forward = attention.Forward(), .backward = goes_in_float ? 0 : attention.Backward()};
}

// Scores, and what is made of values; and their gradients.
AttentionWorkspace RunEager(const AttentionShape& s, at::ScalarType dtype) {
  const std::int64_t lines = s.rows * s.heads;
  const at::Tensor q = at::zeros({lines, s.queries, s.head_dim}, dtype),
                   k = at::zeros({lines, s.seen, s.head_dim}, dtype),
                   weights = at::zeros({lines, s.queries, s.seen}, dtype);
  const auto product = [](const at::Tensor& a, const at::Tensor& b) {
    return Beside([&] { return at::bmm(a, b); });
  };
  const std::int64_t scores = product(q, k.transpose(1, 2)), values = product(weights, k),
                     turned = product(weights.transpose(1, 2), q);
  return {.forward = std::max(scores, values), .backward = std::max({scores, values, turned})};
}

AttentionWorkspace Run(const AttentionShape& shape, at::ScalarType dtype) {
  return shape.fused ? RunFused(shape, dtype) : RunEager(shape, dtype);
}

// Of so many times the rows that were run: what grows with them, grows on.
std::int64_t Grown(std::int64_t of_one, std::int64_t of_run, std::int64_t run, double rows) {
  const double a_row = static_cast<double>(std::max<std::int64_t>(of_run - of_one, 0)) /
                       static_cast<double>(std::max<std::int64_t>(run - 1, 1));
  const double more = std::max(rows - static_cast<double>(run), 0.0);
  return std::max(of_one, of_run) + static_cast<std::int64_t>(a_row * more + 1);
}

// Of heads of at most kMostDim.
AttentionWorkspace MeasureNarrow(const AttentionShape& shape, at::ScalarType dtype) {
  const at::NoGradGuard no_graph;
  AttentionShape run = shape;
  run.queries = std::min(shape.queries, kMostPositions);
  run.seen = std::min(shape.seen, kMostPositions);
  const auto work = [&] { return run.heads * run.queries * run.seen * run.head_dim; };
  if (work() > kMostWork && shape.heads % shape.kv_heads == 0)
    run.heads = run.kv_heads = std::min(shape.heads, kFewHeads);
  run.rows = std::min(shape.rows, std::max<std::int64_t>(kMostWork / std::max<std::int64_t>(work(), 1), 2));
  AttentionWorkspace found = Run(run, dtype);
  // In rows like those that were run.
  const double rows =
      static_cast<double>(shape.rows * shape.heads * shape.seen) / static_cast<double>(run.heads * run.seen);
  if (rows <= static_cast<double>(run.rows)) return found;
  const std::int64_t rows_run = run.rows;
  run.rows = 1;
  const AttentionWorkspace one = Run(run, dtype);
  return {.forward = Grown(one.forward, found.forward, rows_run, rows),
          .backward = Grown(one.backward, found.backward, rows_run, rows)};
}

AttentionWorkspace Measure(AttentionShape shape, at::ScalarType dtype) {
  const std::int64_t dim = shape.head_dim;
  shape.head_dim = std::min(dim, kMostDim);
  const AttentionWorkspace narrow = MeasureNarrow(shape, dtype);
  const std::int64_t times = (dim + shape.head_dim - 1) / std::max<std::int64_t>(shape.head_dim, 1);
  return {.forward = narrow.forward * times, .backward = narrow.backward * times};
}

// HalfAttention of fp16: copies in float of all that it is given and gives, which is rounded behind it; back
// row by row, which of short heads their part counts.
AttentionWorkspace MeasureWide(AttentionShape shape) {
  constexpr std::int64_t kFloatBytes = 4, kHalfBytes = 2;
  const std::int64_t width = shape.heads * shape.head_dim, kv_width = shape.kv_heads * shape.head_dim,
                     queries = shape.rows * shape.queries * width, keys = shape.rows * shape.seen * kv_width;
  AttentionWorkspace found = Measure(shape, at::kFloat);
  found.forward += kFloatBytes * (queries + 2 * keys) + (kFloatBytes - kHalfBytes) * queries;
  shape.rows = 1;
  found.backward = HasShortHeads(shape.head_dim)
                       ? 0
                       : Measure(shape, at::kFloat).backward +
                             kFloatBytes * HalfAttentionFloats(shape.queries, shape.seen, width, kv_width);
  return found;
}

}  // namespace

AttentionWorkspace WorkspaceOf(const AttentionShape& shape, at::ScalarType dtype) {
  static std::mutex mutex;
  static std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                             std::int64_t, bool, at::ScalarType, int>,
                  AttentionWorkspace>
      known;
  if (shape.rows * shape.queries * shape.seen == 0) return {};
  const std::lock_guard lock(mutex);
  const std::tuple key{shape.rows, shape.heads, shape.kv_heads, shape.head_dim,       shape.queries,
                       shape.seen, shape.fused, dtype,          at::get_num_threads()};
  const auto found = known.find(key);
  if (found != known.end()) return found->second;
  const bool goes_wide = dtype == at::kHalf && shape.fused;
  return known.emplace(key, goes_wide ? MeasureWide(shape) : Measure(shape, dtype)).first->second;
}

}  // namespace medley
