// SwiGLU: silu(gate) * up.
#include <medley/kernels/cuda_module.h>
#include <medley/kernels/device.h>
#include <medley/kernels/numbers.h>

namespace medley::kernels {
namespace {

constexpr unsigned kThreads = 256;

// A thread's numbers: pieces of rows, one row after the other.
struct Place {
  std::int64_t row = 0, column = 0;
  bool exists = false;

  __device__ Place(std::int64_t rows, std::int64_t width, int count) {
    const std::int64_t pieces = width / count, index = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
    exists = index < rows * pieces;
    row = rows == 1 ? 0 : index / pieces;
    column = (index - row * pieces) * count;
  }
  MEDLEY_BOTH std::int64_t In(std::int64_t stride) const { return row * stride + column; }
};

MEDLEY_BOTH float Sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

// Bytes a number in a half type: gate 2, up 2, y 2.
template <typename T, int kCount>
__global__ void __launch_bounds__(kThreads) Gated(GatedCall call) {
  const Place place(call.rows, call.width, kCount);
  if (!place.exists) return;
  const Floats<kCount> gate = Load<kCount>(static_cast<const T*>(call.gate) + place.In(call.gate_stride)),
                       up = Load<kCount>(static_cast<const T*>(call.up) + place.In(call.up_stride));
  Floats<kCount> y;
  for (int i = 0; i < kCount; ++i) y.at[i] = gate.at[i] / (1 + std::exp(-gate.at[i])) * up.at[i];
  Store(y, static_cast<T*>(call.y) + place.In(call.y_stride));
}

// Bytes a number in a half type: gradient 2, gate 2, up 2, both gradients 4.
template <typename T, int kCount>
__global__ void __launch_bounds__(kThreads) GatedBackward(GatedBackwardCall call) {
  const Place place(call.rows, call.width, kCount);
  if (!place.exists) return;
  const Floats<kCount> gradient = Load<kCount>(static_cast<const T*>(call.gradient) +
                                               place.In(call.gradient_stride)),
                       gate = Load<kCount>(static_cast<const T*>(call.gate) + place.In(call.gate_stride)),
                       up = Load<kCount>(static_cast<const T*>(call.up) + place.In(call.up_stride));
  Floats<kCount> to_gate, to_up;
  for (int i = 0; i < kCount; ++i) {
    const float x = gate.at[i], share = Sigmoid(x);
    to_gate.at[i] = gradient.at[i] * up.at[i] * share * (1 + x * (1 - share));
    to_up.at[i] = gradient.at[i] * x * share;
  }
  Store(to_gate, static_cast<T*>(call.gate_gradient) + place.In(call.gate_gradient_stride));
  Store(to_up, static_cast<T*>(call.up_gradient) + place.In(call.up_gradient_stride));
}

// Rows behind each other are one.
template <typename Call, typename... Strides>
void Join(Call& call, Strides... strides) {
  if (!((strides == call.width) && ...)) return;
  call.width *= call.rows;
  call.rows = 1;
}

std::size_t BlocksOf(std::int64_t rows, std::int64_t width, int count) {
  return static_cast<std::size_t>((rows * (width / count) + kThreads - 1) / kThreads);
}

}  // namespace
}  // namespace medley::kernels

using namespace medley::kernels;

extern "C" const char* medley_kernels_gated(const GatedCall& given, void* stream) {
  GatedCall call = given;
  if (call.rows == 0 || call.width == 0) return nullptr;
  Join(call, call.gate_stride, call.up_stride, call.y_stride);
  const auto fits = [&](int count) {
    return IsAligned(call.gate) && IsAligned(call.up) && IsAligned(call.y) && call.width % count == 0 &&
           (call.rows == 1 || AreMultiples(count, call.gate_stride, call.up_stride, call.y_stride));
  };
  return ByType(call.type, fits, [&]<typename T, int kCount>() {
    return Launch(Gated<T, kCount>, BlocksOf(call.rows, call.width, kCount), kThreads, 0, stream, call);
  });
}

extern "C" const char* medley_kernels_gated_backward(const GatedBackwardCall& given, void* stream) {
  GatedBackwardCall call = given;
  if (call.rows == 0 || call.width == 0) return nullptr;
  Join(call, call.gradient_stride, call.gate_stride, call.up_stride, call.gate_gradient_stride,
       call.up_gradient_stride);
  const auto fits = [&](int count) {
    return IsAligned(call.gradient) && IsAligned(call.gate) && IsAligned(call.up) &&
           IsAligned(call.gate_gradient) && IsAligned(call.up_gradient) && call.width % count == 0 &&
           (call.rows == 1 || AreMultiples(count, call.gradient_stride, call.gate_stride, call.up_stride,
                                           call.gate_gradient_stride, call.up_gradient_stride));
  };
  return ByType(call.type, fits, [&]<typename T, int kCount>() {
    return Launch(GatedBackward<T, kCount>, BlocksOf(call.rows, call.width, kCount), kThreads, 0, stream,
                  call);
  });
}
