// medley_kernels.so whose kernels are wrong where the environment's MEDLEY_WRONG says: "KERNEL one", a number
// in the middle; "KERNEL last", the last line; "KERNEL backward" and "norm weight", a number of the
// gradients. All else is the stand-in's, whose memory is the host's.
#include <dlfcn.h>
#include <medley/kernels/cuda_module.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

using namespace medley::kernels;

namespace {

template <typename Function>
Function* Right(const char* name) {
  static void* const file = dlopen(MEDLEY_HOST_KERNELS, RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<Function*>(dlsym(file, name));
}

bool Is(const char* fault) {
  const char* const asked = std::getenv("MEDLEY_WRONG");
  return asked != nullptr && std::string_view(asked) == fault;
}

std::size_t BytesOf(Number type) { return type == Number::kFloat ? 4 : 2; }

// Another number of nearly the same size.
void SpoilOne(void* numbers, Number type, std::int64_t count) {
  char* const at = static_cast<char*>(numbers) + static_cast<std::size_t>(count / 2) * BytesOf(type);
  at[type == Number::kFloat ? 2 : 1] ^= type == Number::kFloat ? 0x40 : 0x02;
}
void SpoilLast(void* numbers, Number type, std::int64_t count, std::int64_t width) {
  const std::size_t bytes = static_cast<std::size_t>(width) * BytesOf(type);
  std::memset(static_cast<char*>(numbers) + static_cast<std::size_t>(count) * BytesOf(type) - bytes, 0,
              bytes);
}

}  // namespace

extern "C" {

extern const int medley_kernels_version;
const int medley_kernels_version = kCudaModuleVersion;

const char* medley_kernels_check() { return Right<CudaCheck>("medley_kernels_check")(); }
const char* medley_kernels_update_8bit(const EightBitTensor& tensor, const AdamWRates& rates, void* stream) {
  return Right<CudaUpdateEightBits>("medley_kernels_update_8bit")(tensor, rates, stream);
}
const char* medley_kernels_update_bf16(const HalfTensor& tensor, const AdamWRates& rates, void* stream) {
  return Right<CudaUpdateHalves>("medley_kernels_update_bf16")(tensor, rates, stream);
}
const char* medley_kernels_adamw(const AdamWCall& call, void* stream) {
  const char* const words = Right<CudaAdamW>("medley_kernels_adamw")(call, stream);
  const AdamWTensor& last = call.tensors[call.count - 1];
  if (Is("adamw means")) SpoilOne(last.means, Number::kFloat, last.numbers);
  if (Is("adamw one")) SpoilOne(call.tensors[0].weights, Number::kFloat, call.tensors[0].numbers);
  if (Is("adamw last")) SpoilLast(last.weights, Number::kFloat, last.numbers, last.numbers);
  return words;
}

const char* medley_kernels_norm(const NormCall& call, void* stream) {
  const char* const words = Right<CudaNorm>("medley_kernels_norm")(call, stream);
  const std::int64_t count = call.shape.Lines() * call.shape.dim;
  if (Is("norm one")) SpoilOne(call.y, call.type, count);
  if (Is("norm last")) SpoilLast(call.y, call.type, count, call.shape.dim);
  return words;
}
const char* medley_kernels_norm_backward(const NormBackwardCall& call, void* stream) {
  const char* const words = Right<CudaNormBackward>("medley_kernels_norm_backward")(call, stream);
  if (Is("norm backward")) SpoilOne(call.x_gradient, call.type, call.shape.Lines() * call.shape.dim);
  if (Is("norm weight") && call.weight_gradient != nullptr)
    SpoilOne(call.weight_gradient, Number::kFloat, call.shape.dim);
  return words;
}
const char* medley_kernels_gated(const GatedCall& call, void* stream) {
  const char* const words = Right<CudaGated>("medley_kernels_gated")(call, stream);
  if (Is("gated one")) SpoilOne(call.y, call.type, call.rows * call.width);
  if (Is("gated last")) SpoilLast(call.y, call.type, call.rows * call.width, call.width);
  return words;
}
const char* medley_kernels_gated_backward(const GatedBackwardCall& call, void* stream) {
  const char* const words = Right<CudaGatedBackward>("medley_kernels_gated_backward")(call, stream);
  if (Is("gated gate")) SpoilOne(call.gate_gradient, call.type, call.rows * call.width);
  if (Is("gated backward")) SpoilOne(call.up_gradient, call.type, call.rows * call.width);
  return words;
}
const char* medley_kernels_losses(const LossesCall& call, void* stream) {
  const char* const words = Right<CudaLosses>("medley_kernels_losses")(call, stream);
  float* const seen = call.losses != nullptr ? call.losses : call.others;
  if (Is("losses smaller") && call.smaller != nullptr && !call.is_first)
    SpoilOne(call.smaller, Number::kFloat, call.piece.items);
  if (Is("losses one")) SpoilOne(seen, Number::kFloat, call.piece.items);
  if (Is("losses last")) SpoilLast(seen, Number::kFloat, call.piece.items, 1);
  return words;
}
const char* medley_kernels_losses_backward(const LossesBackwardCall& call, void* stream) {
  const char* const words = Right<CudaLossesBackward>("medley_kernels_losses_backward")(call, stream);
  if (Is("losses backward"))
    SpoilLast(call.out, call.piece.type, call.piece.items * call.out_stride, call.piece.words);
  return words;
}

}  // extern "C"
