#pragma once

#include <cstdint>

#include "pose/generator.h"

namespace medley_signs {

inline medley::RowRandom RandomOf(std::uint64_t seed) { return medley::RowRandom(medley::MixBits(seed)); }

// A made-up clip in which every joint was found.
inline Clip WholeClip(std::uint64_t seed, std::int64_t frames = 12) {
  const SignSetting setting{.missing = 0};
  return MakeClip(SignOf(static_cast<std::int64_t>(seed % kSigns)), setting, medley::Split::kTraining,
                  RandomOf(seed), frames);
}

}  // namespace medley_signs
