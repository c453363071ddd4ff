#pragma once

#include <cstdint>

// Plain loops over contiguous CPU memory, float and double, run on the OpenMP threads that libtorch uses.
// They exist because a small agent spends its time in chains of tiny element-wise operators otherwise; what
// they compute is stated by the operators of ops.h, and tested against chains of such operators.
namespace medley::loops {

// y[r, i] = x[r, i] / rms(x[r]) * w[i]; rstd[r] is kept for the backward.
template <typename T>
void RmsNorm(const T* x, const T* w, T* y, T* rstd, std::int64_t rows, std::int64_t dim, double eps);
// dw must hold zeros.
template <typename T>
void RmsNormBackward(const T* dy, const T* x, const T* w, const T* rstd, T* dx, T* dw, std::int64_t rows,
                     std::int64_t dim);

// x [tokens, heads, dim]: RMSNorm over dim, then the rotation of position begin + (token mod length);
// cos and sin [positions, dim / 2].
struct HeadShape {
  std::int64_t tokens, length, heads, dim, begin;
};
template <typename T>
void HeadNormRope(const T* x, const T* w, const T* cos, const T* sin, T* y, HeadShape shape, double eps);
template <typename T>
void HeadNormRopeBackward(const T* dy, const T* x, const T* w, const T* cos, const T* sin, T* dx, T* dw,
                          HeadShape shape, double eps);

// y = gate * sigmoid(gate) * up
template <typename T>
void SwiGlu(const T* gate, const T* up, T* y, std::int64_t n);
template <typename T>
void SwiGluBackward(const T* dy, const T* gate, const T* up, T* dgate, T* dup, std::int64_t n);

// Between pictures [rows, channels, size, size] and patches [rows, patches, channels * patch * patch],
// patches row by row: to = from * scale + shift.
struct PatchShape {
  std::int64_t rows, channels, size, patch;
};
template <typename T>
void ToPatches(const T* image, T* patches, PatchShape shape, T scale, T shift);
template <typename T>
void FromPatches(const T* patches, T* image, PatchShape shape, T scale, T shift);

}  // namespace medley::loops
