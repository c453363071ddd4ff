#pragma once

#include <cstdint>

#include <medley/base/random.h>
#include <medley/base/rows.h>

#include "pose/clip.h"

namespace medley_signs {

// Made-up signs: a hand goes along a path, at a place, in a shape. Movements 2p and 2p + 1 are one path there
// and back: up and down, a circle either way round, a saw wave and its reverse. Within such a pair every
// choice but the direction has one distribution, which is the same when time runs backwards, so that whoever
// does not see the order of frames cannot tell the two apart.
inline constexpr int kMovements = 6, kPlaces = 5, kHandshapes = 2;
inline constexpr int kSigns = kMovements * kPlaces * kHandshapes;

struct Sign {
  int movement = 0, place = 0, handshape = 0;

  bool operator==(const Sign&) const = default;
};
constexpr std::int64_t LabelOf(const Sign& sign) {
  return (sign.movement * kPlaces + sign.place) * kHandshapes + sign.handshape;
}
constexpr Sign SignOf(std::int64_t label) {
  const int at = static_cast<int>(label);
  return {at / (kPlaces * kHandshapes), at / kHandshapes % kPlaces, at % kHandshapes};
}
// Both hands, the second as the first in a mirror. By the pair: by the movement it would tell the direction.
constexpr bool IsTwoHanded(const Sign& sign) { return (sign.movement / 2 + sign.place) % 3 == 0; }

inline constexpr std::int64_t kTrainingSigners = 14, kUnseenSigners = 4;

struct SignSetting {
  std::int64_t shortest = 30, longest = 150;                               // frames
  int movements = kMovements, places = kPlaces, handshapes = kHandshapes;  // the first so many of each
  double scale = 1;       // of the signer, whose neck stays where it is
  double jitter = 1;      // times the signer's own, 0.001 to 0.004 of the picture whatever the scale
  double missing = 0.03;  // of the frames of a hand
};

// The sign of a row: in any aligned range of as many rows as there are signs, each of them once.
Sign SignOfRow(std::int64_t row, const SignSetting& setting);
// Of a clip made with these random numbers; the signer is one of the split's. `frames`: 0 draws a number of
// them.
Clip MakeClip(const Sign& sign, const SignSetting& setting, medley::Split split, medley::RowRandom random,
              std::int64_t frames = 0);

}  // namespace medley_signs
