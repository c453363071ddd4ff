#pragma once

#include <cstdint>
#include <vector>

namespace medley {

// What of a Language is trained, which decides what its backward needs. No tensors here.
struct LanguageTraining {
  struct Map {
    bool weight = true;
    std::int64_t rank = 0;  // of its adapter; 0: none

    bool any() const { return weight || rank > 0; }
  };
  struct Layer {
    bool input_norm = true, post_norm = true, q_norm = true, k_norm = true;
    Map q, k, v, o, gate, up, down;
  };
  std::vector<Layer> layers{};
  bool embedding = true, final_norm = true;
  bool head = true;         // of its own; as the embedding where it is tied
  std::int64_t tokens = 0;  // whose rows are trained beside a frozen table
  double dropout = 0;       // of what goes into adapters

  bool words() const { return embedding || tokens > 0; }
};

}  // namespace medley
