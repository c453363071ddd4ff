#pragma once

#include <cstdint>
#include <vector>

namespace medley {

// In which shapes a model asks for the kernels of medley_kernels.so (model/blocks/fused.h).
struct KernelShapes {
  struct Heads {
    std::int64_t count = 0, dim = 0;
  };
  std::vector<std::int64_t> norms{};  // their widths
  std::vector<Heads> heads{};         // that are turned
  bool norms_heads = false;           // before that
  std::int64_t gated = 0, words = 0;  // width of SwiGLU, words of a vocabulary; 0: none
};

}  // namespace medley
