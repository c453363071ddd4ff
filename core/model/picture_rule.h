#pragma once

#include <cstdint>

namespace medley {

// How a picture of any size becomes one that a model sees.
struct PictureRule {
  enum class Resampling { kBilinear, kBicubic };

  bool resizes = false;  // else pictures of another size are refused, and nothing else here counts
  Resampling resampling = Resampling::kBicubic;
  // Pixels of the shorter side before the middle is cut out, with black around what is smaller; 0: both sides
  // become the model's size, whatever the aspect.
  std::int64_t shortest_edge = 0;

  bool operator==(const PictureRule&) const = default;
};

}  // namespace medley
