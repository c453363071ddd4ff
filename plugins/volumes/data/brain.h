#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>

#include <medley/base/random.h>
#include <medley/base/rows.h>

namespace medley_volumes {

// A made-up head: a shell of grey matter around white, two fluid-filled ventricles in it, and perhaps a
// lesion. What tasks ask for are its levels; everything else is the subject's own or the scan's.
inline constexpr int kLevels = 5, kOctants = 8, kRhythms = 3, kNoLesion = -1;

struct Brain {
  std::int64_t subject = 0;      // size and shape of the head, where things lie in it
  int ventricles = 2;            // 0 to 4: how large
  int cortex = 2;                // 0 to 4: how thick
  int lesion = kNoLesion;        // its octant: bit 0 right, bit 1 front, bit 2 top
  int asymmetry = 0;             // -1: the left ventricle is the larger one, 1: the right one
  std::array<int, 2> rhythms{};  // of the left and the right half, 0 to 2: how fast
};

// As many subjects as signers of a corpus: training's and those that only evaluations see.
inline constexpr std::int64_t kTrainingSubjects = 4096, kUnseenSubjects = 512;
std::int64_t DrawSubject(medley::Split split, medley::RowRandom& random);

// Whether fluid is darker than tissue, or brighter.
enum class Contrast { kFluidDark, kFluidBright };

// A scan of its own: gain, offset, a shift of up to a voxel and noise come from `random`. Both have mean 0
// and deviation 1.
at::Tensor MakeVolume(const Brain& brain, Contrast contrast, medley::RowRandom random,
                      std::int64_t side);  // [side, side, side]: bottom to top, back to front, left to right
// Each half of the brain swells and fades in its own rhythm. A lesion shows in volumes alone.
at::Tensor MakeSeries(const Brain& brain, medley::RowRandom random, std::int64_t side,
                      std::int64_t frames);  // [frames, side, side, side]

}  // namespace medley_volumes
