#pragma once

#include <array>
#include <cstdint>

#include <medley/model/blocks/activation_kind.h>
#include <medley/model/picture_rule.h>

namespace medley {

enum class TowerKind { kNone, kClip, kSiglip };

// Sizes of a VisionTower, and how pictures come to it. No tensors here, so that configs can be checked
// without.
struct TowerConfig {
  TowerKind kind = TowerKind::kNone;
  std::int64_t size = 0, patch = 1;  // pixels a side of its pictures, and of a patch
  std::int64_t width = 0, layers = 0, heads = 1, ffn = 0;
  double epsilon = 1e-5;
  Activation activation = Activation::kQuickGelu;
  std::array<double, 3> mean{0.5, 0.5, 0.5}, deviation{0.5, 0.5, 0.5};  // of red, green and blue in [0, 1]
  PictureRule rule{};
  Activation projector = Activation::kGelu;  // of what maps it to a language
  std::int64_t image_token = 0;              // what stands for a picture in a text; 0: nothing does

  bool operator==(const TowerConfig&) const = default;
  bool any() const { return kind != TowerKind::kNone; }
  std::int64_t patches() const { return (size / patch) * (size / patch); }
  // Vectors that go through the layers: CLIP has one of the whole picture before them.
  std::int64_t positions() const { return patches() + (kind == TowerKind::kClip ? 1 : 0); }
};

}  // namespace medley
