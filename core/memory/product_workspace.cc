#include <medley/memory/product_workspace.h>

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>

#include <medley/memory/cpu_allocator.h>
#include <medley/model/float_type.h>

namespace medley {
namespace {

// From there on what is packed grows no more (measured with oneDNN 3.7 to 3.11 on AVX512-BF16, rows and both
// sides to 3,072, one and two threads).
constexpr std::int64_t kWidest = 1024;
constexpr std::int64_t kFloatBytes = 4;
constexpr std::int64_t kLeast = 1024;  // beside a result in float: measured 128 to 608

struct Moment {
  std::int64_t bytes = 0, results = 0;

  bool is_in_float() const { return bytes >= kFloatBytes * results; }
};

Moment Run(const at::Tensor& a, const at::Tensor& b) {
  const std::int64_t before = ReadCpuMemory().now;
  ResetCpuPeak();
  const at::Tensor result = at::mm(a, b);
  return {.bytes = std::max<std::int64_t>(
              ReadCpuMemory().peak - before - static_cast<std::int64_t>(result.nbytes()), 0),
          .results = result.numel()};
}

// Of a matrix [out, in] and a few rows, and where they take anything, of many.
ProductWorkspace Measure(std::int64_t out, std::int64_t in, at::ScalarType dtype) {
  const at::NoGradGuard no_graph;
  ProductWorkspace found;
  for (const std::int64_t rows : {std::int64_t{64}, kWidest}) {
    const at::Tensor x = at::zeros({rows, in}, dtype), w = at::zeros({out, in}, dtype),
                     g = at::zeros({rows, out}, dtype);
    const Moment forward = Run(x, w.t()), of_x = Run(g, w), of_w = Run(g.t(), x);
    const bool in_float = forward.is_in_float() && of_x.is_in_float() && of_w.is_in_float();
    found.result_bytes = in_float ? kFloatBytes : 0;
    const std::int64_t least = in_float ? kLeast : 0;
    const auto beside = [&](const Moment& moment) {
      return std::max(moment.bytes - found.result_bytes * moment.results, least);
    };
    found.forward = beside(forward);
    found.backward = std::max(beside(of_x), beside(of_w));
    if (forward.bytes + of_x.bytes + of_w.bytes == 0) break;
  }
  return found;
}

ProductWorkspace Remembered(std::int64_t out, std::int64_t in, at::ScalarType dtype) {
  static std::mutex mutex;
  static std::map<std::tuple<std::int64_t, std::int64_t, at::ScalarType, int>, ProductWorkspace> known;
  const std::lock_guard lock(mutex);
  out = std::min(out, kWidest), in = std::min(in, kWidest);
  const std::tuple key{out, in, dtype, at::get_num_threads()};
  const auto found = known.find(key);
  if (found != known.end()) return found->second;
  return known.emplace(key, Measure(out, in, dtype)).first->second;  // nothing is kept of one that threw
}

}  // namespace

ProductWorkspace WorkspaceOf(const std::vector<Parameter>& parameters) {
  ProductWorkspace most;
  for (const Parameter& parameter : parameters) {
    const at::Tensor& matrix = parameter.tensor;
    if (matrix.dim() != 2 || !IsHalf(matrix.scalar_type())) continue;
    const ProductWorkspace one = Remembered(matrix.size(0), matrix.size(1), matrix.scalar_type());
    most.forward = std::max(most.forward, one.forward);
    most.backward = std::max(most.backward, one.backward);
    most.result_bytes = std::max(most.result_bytes, one.result_bytes);
  }
  return most;
}

}  // namespace medley
