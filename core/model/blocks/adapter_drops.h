#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include <medley/model/blocks/dropout.h>
#include <medley/model/parameter_set.h>

namespace medley {

// A piece of what stands before a text.
struct PrefixPiece {
  std::string key{};        // see ModelInput
  std::int64_t length = 0;  // positions
};

// What is dropped of the input of one map's adapter, where that is several pieces of a prefix and then the
// text: of each piece the same in all passes that see it there.
class SeenDropout {
 public:
  // Drops nothing.
  SeenDropout() = default;
  // `begin`: of the first piece, in positions.
  SeenDropout(double p, const std::string& site, const std::vector<PrefixPiece>& pieces, std::int64_t begin,
              ForwardContext& context);
  at::Tensor operator()(const at::Tensor& x) const;  // [rows, length, ...]

 private:
  std::vector<Dropout> pieces_;
  std::vector<std::int64_t> lengths_;  // all but the text's
  Dropout text_;
};
// The dropout of one such piece alone.
Dropout PieceDropout(double p, const std::string& site, const PrefixPiece& piece, std::int64_t begin,
                     ForwardContext& context);

// The dropout of what goes into the adapters of one layer of a Language. Made in front of Layer.
struct AdapterDrops {
  Dropout q, o, gate, up, down;
  SeenDropout k, v;
};

}  // namespace medley
