#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>

namespace medley {

// How far a run is, and how fast.
struct RunPace {
  std::int64_t step = 0;                                      // the last one; 0: none
  double seconds = std::numeric_limits<double>::quiet_NaN();  // of a step, the median of the last hundred
};
// By the end of its timing.jsonl alone, however long that is. Throws nothing: what cannot be read is not
// known.
RunPace PaceOf(const std::filesystem::path& run);

}  // namespace medley
