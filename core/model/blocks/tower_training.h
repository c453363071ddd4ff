#pragma once

#include <cstdint>
#include <vector>

#include <medley/model/blocks/language_training.h>

namespace medley {

// What of a VisionTower, or of a Projector, is trained, which decides what its backward needs. No tensors
// here.
struct TowerTraining {
  using Map = LanguageTraining::Map;
  struct Layer {
    bool self_norm = true, ffn_norm = true;
    Map q, k, v, out, up, down;
  };
  std::vector<Layer> layers{};
  bool patch = true;     // any of the patch's kernel, its bias, the class and the positions
  bool kernel = true;    // the kernel alone
  bool norm_in = false;  // of CLIP
  double dropout = 0;    // of what goes into adapters
  Map projector_in{}, projector_out{};

  // Whether nothing of it has a gradient, and so no forward keeps anything.
  bool rests() const;
};

}  // namespace medley
