#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include <medley/update/compact_update.h>

namespace medley {

// The updates of UpdateOnCpu, but for rounding, by operators of libtorch on whatever device: piece by piece
// in scratch tensors that are made once, some thirty launches for each, and as many passes over memory. The
// slow way, where there is no kernel (UpdateByKernel).
class CompactOperators {
 public:
  // Whether moments on this device are updated so.
  static bool IsFor(at::Device device);
  static std::int64_t BytesFor(MomentsKind kind);  // of the scratch tensors

  CompactOperators(MomentsKind kind, at::Device device);

  void Update(const CompactUpdate& update);

 private:
  struct Piece;
  void UpdatePiece(const Piece& piece, const kernels::AdamWRates& rates);
  void Decode(const at::Tensor& codes, const at::Tensor& scales, const at::Tensor& map,
              const at::Tensor& out);
  void Encode(const at::Tensor& values, const at::Tensor& codes, const at::Tensor& scales,
              const at::Tensor& middles, bool is_square);
  void Round(const at::Tensor& values, const at::Tensor& halves, const at::Tensor& random);
  void MakeRandom(std::int64_t place, std::int64_t size, const kernels::AdamWRates& rates);

  MomentsKind kind_;
  at::Tensor mean_, square_, root_;           // [numbers of a piece], float
  at::Tensor codes_;                          // of eight bits: int32
  at::Tensor places_, random_, other_;        // of bf16: int64
  at::Tensor mean_map_, square_map_;          // [256]
  at::Tensor mean_middles_, square_middles_;  // [255], between neighbours
};

}  // namespace medley
