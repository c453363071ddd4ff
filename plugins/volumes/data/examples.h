#pragma once

#include <string>
#include <vector>

#include <medley/task/drivers/row.h>

#include "data/brain.h"
#include "data/conversation.h"

namespace medley_volumes {

// Made-up conversations. Each asks so that no answer is more frequent than another one of its question.

// `images`: scans of the row, each of its own noise; 0: as many as the question needs.

// One volume of either contrast (or `images`, from 1), one of four questions: how large the ventricles are,
// how thick the cortex is, where a lesion lies, which ventricle is larger. The mean over the questions of 1 /
// answers:
inline constexpr double kSingleChance = (1.0 / 5 + 1.0 / 5 + 1.0 / 9 + 1.0 / 3) / 4;
Conversation SingleExample(medley::Row& row, const Geometry& geometry, std::int64_t images = 0);

// Two volumes of other contrast: are they of one brain, or what differs? Either alone tells nothing of that.
// Or, in a share `series` of the rows, the two of one brain and a series: how fast is the rhythm of the half
// that has the lesion? The series alone leaves two of the three answers, the volumes all. With `images`, from
// 2, further volumes of the first brain before the two, or so many beside the series; rows as long as can be
// are then of both kinds in turn, as either may take more.
inline constexpr double kMultimodalChance = 1.0 / 3;
struct Rhythmic {
  Brain brain;
  int label = 0;
};
// The rhythm of the half with the lesion, and of the other half one of the other two.
Rhythmic DrawRhythm(medley::Row& row);
Conversation MultimodalExample(medley::Row& row, const Geometry& geometry, double series,
                               std::int64_t images = 0);

// Two brains that a row compares, and the number of the right answer.
struct Pair {
  Brain first, second;
  int label = 0;
};
// One head twice: equal (0), or with other ventricles (1) or another cortex (2).
Pair DrawAgreement(medley::Row& row);
// Before and after: nothing has changed (0), the ventricles are larger (1) or smaller (2), the cortex is
// thicker (3) or thinner (4).
Pair DrawChange(medley::Row& row);

// Up to `references` volumes of a subject (with `images`, from 2, all but one), acknowledged; then one more:
// what has changed, and how? The target alone tells nothing of that. `blank`: the references show nothing (a
// control).
inline constexpr double kCompareChance = 1.0 / 5;
Conversation CompareExample(medley::Row& row, const Geometry& geometry, std::int64_t references, bool blank,
                            std::int64_t images = 0);

// All that they may say, for a vocabulary.
std::vector<std::string> ExampleTexts();

}  // namespace medley_volumes
