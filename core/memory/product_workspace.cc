#include <medley/memory/product_workspace.h>

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <tuple>

#include <medley/memory/attention_workspace.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/model/float_type.h>

namespace medley {
namespace {

// From there on what is packed grows no more (measured with oneDNN 3.7 to 3.11 on AVX512-BF16, rows and both
// sides to 3,072, one and two threads); but with AMX in proportion to what is summed over, to 1 MB at 8,192,
// whatever the other side is.
constexpr std::int64_t kWidest = 1024, kDeepest = 8192, kBesideDeep = 512;
constexpr std::int64_t kFloatBytes = 4, kHalfBytes = 2;
constexpr std::int64_t kTile = 64;     // the most that pieces are rounded up to
constexpr std::int64_t kLeast = 1024;  // beside a result in float: measured 128 to 608 with two threads
// Pieces do not grow evenly with the rows, and with AMX they are largest at some few hundred. So many are
// tried; of numbers between them they may be a part larger.
constexpr std::array<std::int64_t, 20> kRows = {1,   2,   3,   8,   16,  32,  48,  64,  96,  128,
                                                160, 192, 224, 256, 320, 384, 448, 512, 768, kWidest};
constexpr std::int64_t kSpareOfPieces = 8;
constexpr std::int64_t kFewRows = 64;

struct Moment {
  std::int64_t bytes = 0, results = 0;

  // Pieces, too, may be larger than a small result.
  bool is_in_float() const {
    const std::int64_t beside = bytes - kFloatBytes * results;
    return beside >= 0 && beside <= kLeast * at::get_num_threads();
  }
};

template <typename Fn>
Moment Run(const Fn& fn) {
  const std::int64_t before = ReadCpuMemory().now;
  const CpuPeakScope own;
  const at::Tensor result = fn();
  return {.bytes = std::max<std::int64_t>(
              ReadCpuMemory().peak - before - static_cast<std::int64_t>(result.nbytes()), 0),
          .results = result.numel()};
}

std::int64_t WithSpare(std::int64_t pieces) { return pieces + pieces / kSpareOfPieces; }

// Of a matrix [out, in]. Where a few rows take nothing, or sums in float, so do more.
ProductWorkspace Measure(std::int64_t out, std::int64_t in, at::ScalarType dtype) {
  const at::NoGradGuard no_graph;
  ProductWorkspace found;
  const at::Tensor bias = at::zeros({out}, dtype);
  for (const std::int64_t rows : kRows) {
    const at::Tensor x = at::zeros({rows, in}, dtype), w = at::zeros({out, in}, dtype),
                     g = at::zeros({rows, out}, dtype);
    const Moment plain = Run([&] { return at::mm(x, w.t()); }),
                 biased = Run([&] { return at::addmm(bias, x, w.t()); }),
                 forward = biased.bytes > plain.bytes ? biased : plain,
                 of_x = Run([&] { return at::mm(g, w); }), of_w = Run([&] { return at::mm(g.t(), x); });
    const bool in_float = forward.is_in_float() && of_x.is_in_float() && of_w.is_in_float();
    const std::int64_t result_bytes = in_float ? kFloatBytes : 0;
    const auto beside = [&](const Moment& moment) {
      return in_float ? std::max(moment.bytes - result_bytes * moment.results, kLeast)
                      : WithSpare(moment.bytes);
    };
    found.result_bytes = result_bytes;  // as most rows say
    found.forward = std::max(found.forward, beside(forward));
    found.backward = std::max({found.backward, beside(of_x), beside(of_w)});
    if (rows == kFewRows && (in_float || forward.bytes + of_x.bytes + of_w.bytes == 0)) break;
  }
  return found;
}

ProductWorkspace Remembered(std::int64_t out, std::int64_t in, at::ScalarType dtype) {
  static std::mutex mutex;
  static std::map<std::tuple<std::int64_t, std::int64_t, at::ScalarType, int>, ProductWorkspace> known;
  const std::lock_guard lock(mutex);
  const std::tuple key{out, in, dtype, at::get_num_threads()};
  const auto found = known.find(key);
  if (found != known.end()) return found->second;
  return known.emplace(key, Measure(out, in, dtype)).first->second;  // nothing is kept of one that threw
}

void TakeMost(const ProductWorkspace& one, ProductWorkspace& most) {
  most.forward = std::max(most.forward, one.forward);
  most.backward = std::max(most.backward, one.backward);
  most.result_bytes = std::max(most.result_bytes, one.result_bytes);
}

// Of any size, by running small ones.
ProductWorkspace OfMatrix(std::int64_t out, std::int64_t in, at::ScalarType dtype) {
  ProductWorkspace most = Remembered(std::min(out, kWidest), std::min(in, kWidest), dtype);
  if (in > kWidest) TakeMost(Remembered(std::min(out, kBesideDeep), std::min(in, kDeepest), dtype), most);
  if (out > kWidest) TakeMost(Remembered(std::min(out, kDeepest), std::min(in, kBesideDeep), dtype), most);
  const std::int64_t deeper = (std::max(out, in) + kDeepest - 1) / kDeepest;
  most.forward *= deeper, most.backward *= deeper;
  return most;
}

// Of fp16, which goes in float (model/products.h): a copy of the matrix, beside the result.
ProductWorkspace WideWorkspace(const at::Tensor& matrix) {
  const std::int64_t copy = kFloatBytes * matrix.numel();
  return {.forward = copy, .backward = copy, .result_bytes = kFloatBytes};
}

// At most a thread packs both operands of what it has.
std::int64_t MostPacked(std::int64_t out, std::int64_t in) {
  const auto padded = [](std::int64_t n) { return (std::min(n, kWidest) + kTile - 1) / kTile * kTile; };
  return at::get_num_threads() * kHalfBytes * padded(kWidest) * (padded(out) + padded(in));
}

// Keys and values once more, of a half type, in whole tiles.
std::int64_t PackedKeys(const AttentionShape& attention) {
  const auto padded = [](std::int64_t n) { return (n + kTile - 1) / kTile * kTile; };
  return attention.rows * attention.heads * 2 * padded(attention.seen) * padded(attention.head_dim) *
         kHalfBytes;
}

// The matrices of half types.
std::vector<at::Tensor> HalfMatrices(const std::vector<Parameter>& parameters) {
  std::vector<at::Tensor> matrices;
  for (const Parameter& parameter : parameters) {
    if (parameter.tensor.dim() == 2 && IsHalf(parameter.tensor.scalar_type()))
      matrices.push_back(parameter.tensor);
  }
  return matrices;
}

}  // namespace

// A product and attention are never there at once.
void ProductWorkspace::AddTo(ForwardPart& part) const {
  // The gradient of a matrix is a result too, which is counted in float already.
  const std::int64_t size = static_cast<std::int64_t>(c10::elementSize(dtype)),
                     result = part.product < 0 ? (part.kept + part.forward) / size : part.product,
                     of_gradient = part.product < 0 ? part.backward / size : part.product;
  std::int64_t in_forward = forward + result_bytes * result,
               in_backward = backward + result_bytes * of_gradient;
  if (part.attention) {
    const AttentionWorkspace attention = WorkspaceOf(*part.attention, dtype);
    in_forward = std::max(in_forward, attention.forward + (packs_keys ? PackedKeys(*part.attention) : 0) -
                                          part.attention->later);
    in_backward = std::max(in_backward, attention.backward);
  }
  part.forward += in_forward;
  part.backward += in_backward;
}

ProductWorkspace WorkspaceOf(const std::vector<Parameter>& parameters) {
  ProductWorkspace most;
  const auto computes = std::ranges::find_if(parameters, [](const Parameter& parameter) {
    return at::isFloatingType(parameter.tensor.scalar_type());
  });
  if (computes != parameters.end()) most.dtype = computes->tensor.scalar_type();  // as FloatTypeOf
  for (const at::Tensor& matrix : HalfMatrices(parameters)) {
    TakeMost(matrix.scalar_type() == at::kHalf
                 ? WideWorkspace(matrix)
                 : OfMatrix(matrix.size(0), matrix.size(1), matrix.scalar_type()),
             most);
  }
  return most;
}

ProductWorkspace LargestWorkspaceOf(const std::vector<Parameter>& parameters) {
  ProductWorkspace most = WorkspaceOf(parameters);
  if (most.dtype == at::kHalf) return most;  // of its own bytes on any
  most.packs_keys = IsHalf(most.dtype);
  for (const at::Tensor& matrix : HalfMatrices(parameters)) {
    const std::int64_t packed = MostPacked(matrix.size(0), matrix.size(1));
    most.forward = std::max(most.forward, packed);
    most.backward = std::max(most.backward, packed);
    most.result_bytes = kFloatBytes;
  }
  return most;
}

}  // namespace medley
