#pragma once

#include <array>
#include <string>
#include <vector>

namespace medley::pretended {

// A card of each kind that libtorch's kernels distinguish. `shared_kib`: of its shared memory what a block
// may have, of NVIDIA's table of compute capabilities.
struct Card {
  const char* name;
  int capability;
  unsigned shared_kib;
};
inline constexpr std::array kCards{Card{"T4", 75, 64},       Card{"A100", 80, 163}, Card{"RTX 3090", 86, 99},
                                   Card{"RTX 4090", 89, 99}, Card{"H100", 90, 227}, Card{"B200", 100, 227},
                                   Card{"RTX 5090", 120, 99}};

// The names of the kernels that were launched since this was asked last, mangled.
std::vector<std::string> TakeLaunched();

}  // namespace medley::pretended
