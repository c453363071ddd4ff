#include <medley/model/kernels/loops.h>

#include <omp.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

// Each loop is compiled for several instruction sets and picked when the library is loaded. The attribute
// does not reach what OpenMP outlines, so the parallel regions are outside, in functions of their own.
#define MEDLEY_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#define MEDLEY_INLINE inline __attribute__((always_inline))

namespace medley::loops {
namespace {

constexpr std::int64_t kGrain = 8192;  // elements below which a second thread costs more than it gives

// fn(thread, begin, end) over [0, n) in contiguous shares, so that a sum over them depends on the number of
// threads alone.
template <typename Fn>
void Parallel(std::int64_t n, std::int64_t elements, const Fn& fn) {
  const std::int64_t limit = std::max<std::int64_t>(1, elements / kGrain);
  const int threads = static_cast<int>(std::min<std::int64_t>(omp_get_max_threads(), limit));
  if (threads == 1 || omp_in_parallel()) {
    fn(0, std::int64_t{0}, n);
    return;
  }
#pragma omp parallel
  {
    const int thread = omp_get_thread_num();
    const int used = std::min(threads, omp_get_num_threads());
    if (thread < used) fn(thread, n * thread / used, n * (thread + 1) / used);
  }
}

// fn(begin, end, sums) with sums of each thread, added up in order.
template <typename T, typename Fn>
void ParallelWithSums(std::int64_t n, std::int64_t elements, std::int64_t dim, T* sums, const Fn& fn) {
  std::vector<T> partial(static_cast<std::size_t>(omp_get_max_threads() * dim));
  Parallel(n, elements, [&](int thread, std::int64_t begin, std::int64_t end) {
    fn(begin, end, partial.data() + thread * dim);
  });
  for (std::size_t i = 0; i < partial.size(); ++i) sums[i % static_cast<std::size_t>(dim)] += partial[i];
}

template <typename T>
MEDLEY_INLINE T Dot(const T* a, const T* b, std::int64_t n) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

template <typename T>
MEDLEY_INLINE T InverseRms(const T* x, std::int64_t dim, double eps) {
  return T(1) / std::sqrt(Dot(x, x, dim) / static_cast<T>(dim) + static_cast<T>(eps));
}

template <typename T>
MEDLEY_INLINE void RmsNormRange(const T* x, const T* w, T* y, T* rstd, std::int64_t begin, std::int64_t end,
                                std::int64_t dim, double eps) {
  for (std::int64_t r = begin; r < end; ++r) {
    const T* in = x + r * dim;
    T* out = y + r * dim;
    const T s = rstd[r] = InverseRms(in, dim, eps);
#pragma omp simd
    for (std::int64_t i = 0; i < dim; ++i) out[i] = in[i] * s * w[i];
  }
}

template <typename T>
MEDLEY_INLINE void RmsNormBackwardRange(const T* dy, const T* x, const T* w, const T* rstd, T* dx, T* dw,
                                        std::int64_t begin, std::int64_t end, std::int64_t dim) {
  for (std::int64_t r = begin; r < end; ++r) {
    const T* in = x + r * dim;
    const T* g = dy + r * dim;
    T* out = dx + r * dim;
    const T s = rstd[r];
    T along = 0;
#pragma omp simd reduction(+ : along)
    for (std::int64_t i = 0; i < dim; ++i) along += g[i] * w[i] * in[i];
    along *= s * s * s / static_cast<T>(dim);
#pragma omp simd
    for (std::int64_t i = 0; i < dim; ++i) {
      out[i] = g[i] * w[i] * s - in[i] * along;
      dw[i] += g[i] * in[i] * s;
    }
  }
}

// kDim: the size of a head where it is known here (loops this short gain much from it), else 0.
template <std::int64_t kDim, typename T>
MEDLEY_INLINE void HeadRange(const T* x, const T* w, const T* cos, const T* sin, T* y, std::int64_t begin,
                             std::int64_t end, HeadShape shape, double eps) {
  const std::int64_t dim = kDim > 0 ? kDim : shape.dim, half = dim / 2;
  for (std::int64_t t = begin; t < end; ++t) {
    const T* c = cos + (shape.begin + t % shape.length) * half;
    const T* s = sin + (shape.begin + t % shape.length) * half;
    for (std::int64_t h = 0; h < shape.heads; ++h) {
      const T* in = x + (t * shape.heads + h) * dim;
      T* out = y + (t * shape.heads + h) * dim;
      const T r = InverseRms(in, dim, eps);
#pragma omp simd
      for (std::int64_t i = 0; i < half; ++i) {
        const T a = in[i] * r * w[i], b = in[i + half] * r * w[i + half];
        out[i] = a * c[i] - b * s[i];
        out[i + half] = b * c[i] + a * s[i];
      }
    }
  }
}

template <std::int64_t kDim, typename T>
MEDLEY_INLINE void HeadBackwardRange(const T* dy, const T* x, const T* w, const T* cos, const T* sin, T* dx,
                                     T* dw, std::int64_t begin, std::int64_t end, HeadShape shape,
                                     double eps) {
  const std::int64_t dim = kDim > 0 ? kDim : shape.dim, half = dim / 2;
  for (std::int64_t t = begin; t < end; ++t) {
    const T* c = cos + (shape.begin + t % shape.length) * half;
    const T* s = sin + (shape.begin + t % shape.length) * half;
    for (std::int64_t h = 0; h < shape.heads; ++h) {
      const std::int64_t at = (t * shape.heads + h) * dim;
      const T* in = x + at;
      T* out = dx + at;
      const T r = InverseRms(in, dim, eps);
      T along = 0;
#pragma omp simd reduction(+ : along)
      for (std::int64_t i = 0; i < half; ++i) {  // out holds the gradient before the rotation for a moment
        const T ga = dy[at + i] * c[i] + dy[at + i + half] * s[i];
        const T gb = dy[at + i + half] * c[i] - dy[at + i] * s[i];
        dw[i] += ga * in[i] * r;
        dw[i + half] += gb * in[i + half] * r;
        out[i] = ga * w[i];
        out[i + half] = gb * w[i + half];
        along += out[i] * in[i] + out[i + half] * in[i + half];
      }
      along *= r * r * r / static_cast<T>(dim);
#pragma omp simd
      for (std::int64_t i = 0; i < dim; ++i) out[i] = out[i] * r - in[i] * along;
    }
  }
}

// The C library's exp stops these loops from using vector registers. Range reduction and polynomial of
// Cephes' expf: within 2 units in the last place.
MEDLEY_INLINE float Exp(float x) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer, held in the low bits
  x = x < -87.0f ? -87.0f : x > 88.0f ? 88.0f : x;
  const float shifted = x * 1.44269504088896341f + kRound;
  const float n = shifted - kRound;
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  const std::int32_t power = std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(kRound);
  return (p * r * r + r + 1.0f) * std::bit_cast<float>((power + 127) << 23);
}
MEDLEY_INLINE double Exp(double x) { return std::exp(x); }

template <typename T>
MEDLEY_INLINE void SwiGluRange(const T* gate, const T* up, T* y, std::int64_t begin, std::int64_t end) {
#pragma omp simd
  for (std::int64_t i = begin; i < end; ++i) y[i] = gate[i] / (T(1) + Exp(-gate[i])) * up[i];
}

template <typename T>
MEDLEY_INLINE void SwiGluBackwardRange(const T* dy, const T* gate, const T* up, T* dgate, T* dup,
                                       std::int64_t begin, std::int64_t end) {
#pragma omp simd
  for (std::int64_t i = begin; i < end; ++i) {
    const T sigmoid = T(1) / (T(1) + Exp(-gate[i]));
    const T silu = gate[i] * sigmoid;
    dup[i] = dy[i] * silu;
    dgate[i] = dy[i] * up[i] * (sigmoid + silu - silu * sigmoid);
  }
}

// One line of a patch at a time: [patch] pixels that are contiguous on both sides.
template <bool kToPatches, typename T>
MEDLEY_INLINE void PatchRange(const T* from, T* to, std::int64_t begin, std::int64_t end, PatchShape shape,
                              T scale, T shift) {
  const std::int64_t grid = shape.size / shape.patch;
  const std::int64_t width = shape.channels * shape.patch * shape.patch;
  for (std::int64_t line = begin; line < end; ++line) {  // lines of the picture
    const std::int64_t y = line % shape.size, plane = line / shape.size;
    const std::int64_t channel = plane % shape.channels, row = plane / shape.channels;
    const std::int64_t first = (row * grid + y / shape.patch) * grid * width +
                               (channel * shape.patch + y % shape.patch) * shape.patch;
    for (std::int64_t p = 0; p < grid; ++p) {
      const std::int64_t pixel = line * shape.size + p * shape.patch, value = first + p * width;
      const T* in = from + (kToPatches ? pixel : value);
      T* out = to + (kToPatches ? value : pixel);
#pragma omp simd
      for (std::int64_t i = 0; i < shape.patch; ++i) out[i] = in[i] * scale + shift;
    }
  }
}

// The clones of each loop for float and double. A clone cannot be a template.
#define MEDLEY_BOTH(T)                                                                                       \
  MEDLEY_CLONES void RunRms(const T* x, const T* w, T* y, T* rstd, std::int64_t b, std::int64_t e,           \
                            std::int64_t d, double eps) {                                                    \
    RmsNormRange(x, w, y, rstd, b, e, d, eps);                                                               \
  }                                                                                                          \
  MEDLEY_CLONES void RunRmsBackward(const T* dy, const T* x, const T* w, const T* rstd, T* dx, T* dw,        \
                                    std::int64_t b, std::int64_t e, std::int64_t d) {                        \
    RmsNormBackwardRange(dy, x, w, rstd, dx, dw, b, e, d);                                                   \
  }                                                                                                          \
  MEDLEY_CLONES void RunHead(const T* x, const T* w, const T* cos, const T* sin, T* y, std::int64_t b,       \
                             std::int64_t e, HeadShape s, double eps) {                                      \
    if (s.dim == 16) return HeadRange<16>(x, w, cos, sin, y, b, e, s, eps);                                  \
    HeadRange<0>(x, w, cos, sin, y, b, e, s, eps);                                                           \
  }                                                                                                          \
  MEDLEY_CLONES void RunHeadBackward(const T* dy, const T* x, const T* w, const T* cos, const T* sin, T* dx, \
                                     T* dw, std::int64_t b, std::int64_t e, HeadShape s, double eps) {       \
    if (s.dim == 16) return HeadBackwardRange<16>(dy, x, w, cos, sin, dx, dw, b, e, s, eps);                 \
    HeadBackwardRange<0>(dy, x, w, cos, sin, dx, dw, b, e, s, eps);                                          \
  }                                                                                                          \
  MEDLEY_CLONES void RunSwiGlu(const T* gate, const T* up, T* y, std::int64_t b, std::int64_t e) {           \
    SwiGluRange(gate, up, y, b, e);                                                                          \
  }                                                                                                          \
  MEDLEY_CLONES void RunSwiGluBackward(const T* dy, const T* gate, const T* up, T* dgate, T* dup,            \
                                       std::int64_t b, std::int64_t e) {                                     \
    SwiGluBackwardRange(dy, gate, up, dgate, dup, b, e);                                                     \
  }                                                                                                          \
  MEDLEY_CLONES void RunToPatches(const T* f, T* t, std::int64_t b, std::int64_t e, PatchShape s, T m,       \
                                  T a) {                                                                     \
    PatchRange<true>(f, t, b, e, s, m, a);                                                                   \
  }                                                                                                          \
  MEDLEY_CLONES void RunFromPatches(const T* f, T* t, std::int64_t b, std::int64_t e, PatchShape s, T m,     \
                                    T a) {                                                                   \
    PatchRange<false>(f, t, b, e, s, m, a);                                                                  \
  }
MEDLEY_BOTH(float)
MEDLEY_BOTH(double)
#undef MEDLEY_BOTH

}  // namespace

template <typename T>
void RmsNorm(const T* x, const T* w, T* y, T* rstd, std::int64_t rows, std::int64_t dim, double eps) {
  Parallel(rows, rows * dim,
           [&](int, std::int64_t b, std::int64_t e) { RunRms(x, w, y, rstd, b, e, dim, eps); });
}

template <typename T>
void RmsNormBackward(const T* dy, const T* x, const T* w, const T* rstd, T* dx, T* dw, std::int64_t rows,
                     std::int64_t dim) {
  ParallelWithSums(rows, rows * dim, dim, dw, [&](std::int64_t b, std::int64_t e, T* sums) {
    RunRmsBackward(dy, x, w, rstd, dx, sums, b, e, dim);
  });
}

template <typename T>
void HeadNormRope(const T* x, const T* w, const T* cos, const T* sin, T* y, HeadShape shape, double eps) {
  Parallel(shape.tokens, shape.tokens * shape.heads * shape.dim,
           [&](int, std::int64_t b, std::int64_t e) { RunHead(x, w, cos, sin, y, b, e, shape, eps); });
}

template <typename T>
void HeadNormRopeBackward(const T* dy, const T* x, const T* w, const T* cos, const T* sin, T* dx, T* dw,
                          HeadShape shape, double eps) {
  ParallelWithSums(shape.tokens, shape.tokens * shape.heads * shape.dim, shape.dim, dw,
                   [&](std::int64_t b, std::int64_t e, T* sums) {
                     RunHeadBackward(dy, x, w, cos, sin, dx, sums, b, e, shape, eps);
                   });
}

template <typename T>
void SwiGlu(const T* gate, const T* up, T* y, std::int64_t n) {
  Parallel(n, n, [&](int, std::int64_t b, std::int64_t e) { RunSwiGlu(gate, up, y, b, e); });
}

template <typename T>
void SwiGluBackward(const T* dy, const T* gate, const T* up, T* dgate, T* dup, std::int64_t n) {
  Parallel(n, n,
           [&](int, std::int64_t b, std::int64_t e) { RunSwiGluBackward(dy, gate, up, dgate, dup, b, e); });
}

template <typename T>
void ToPatches(const T* image, T* patches, PatchShape shape, T scale, T shift) {
  const std::int64_t lines = shape.rows * shape.channels * shape.size;
  Parallel(lines, lines * shape.size, [&](int, std::int64_t b, std::int64_t e) {
    RunToPatches(image, patches, b, e, shape, scale, shift);
  });
}

template <typename T>
void FromPatches(const T* patches, T* image, PatchShape shape, T scale, T shift) {
  const std::int64_t lines = shape.rows * shape.channels * shape.size;
  Parallel(lines, lines * shape.size, [&](int, std::int64_t b, std::int64_t e) {
    RunFromPatches(patches, image, b, e, shape, scale, shift);
  });
}

#define MEDLEY_INSTANTIATE(T)                                                                                \
  template void RmsNorm<T>(const T*, const T*, T*, T*, std::int64_t, std::int64_t, double);                  \
  template void RmsNormBackward<T>(const T*, const T*, const T*, const T*, T*, T*, std::int64_t,             \
                                   std::int64_t);                                                            \
  template void HeadNormRope<T>(const T*, const T*, const T*, const T*, T*, HeadShape, double);              \
  template void HeadNormRopeBackward<T>(const T*, const T*, const T*, const T*, const T*, T*, T*, HeadShape, \
                                        double);                                                             \
  template void SwiGlu<T>(const T*, const T*, T*, std::int64_t);                                             \
  template void SwiGluBackward<T>(const T*, const T*, const T*, T*, T*, std::int64_t);                       \
  template void ToPatches<T>(const T*, T*, PatchShape, T, T);                                                \
  template void FromPatches<T>(const T*, T*, PatchShape, T, T);
MEDLEY_INSTANTIATE(float)
MEDLEY_INSTANTIATE(double)
#undef MEDLEY_INSTANTIATE

}  // namespace medley::loops
