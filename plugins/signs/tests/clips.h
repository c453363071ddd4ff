#pragma once

#include <algorithm>
#include <cstdint>

#include "pose/boxes.h"
#include "pose/generator.h"

namespace medley_signs {

inline medley::RowRandom RandomOf(std::uint64_t seed) { return medley::RowRandom(medley::MixBits(seed)); }

// A made-up clip in which every joint was found.
inline Clip WholeClip(std::uint64_t seed, std::int64_t frames = 12) {
  const SignSetting setting{.missing = 0};
  return MakeClip(SignOf(static_cast<std::int64_t>(seed % kSigns)), setting, medley::Split::kTraining,
                  RandomOf(seed), frames);
}

inline Clip Boxed(Clip clip) {
  PutIntoBoxes(clip);
  return clip;
}

// The largest difference between two clips of equal length.
inline double Distance(const Clip& a, const Clip& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.frames.size(); ++i) {
    for (std::size_t joint = 0; joint < kJoints; ++joint)
      most = std::max(most, Length(a.frames[i][joint] - b.frames[i][joint]));
  }
  return most;
}

}  // namespace medley_signs
