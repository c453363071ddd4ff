// Of volumes: which rows and accumulation its presets and its configuration function recommend, and what
// fits.

#include <medley/plan/peak_lines.h>
#include <medley/step/accumulation.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "estimate/seed_tables.h"

namespace medley::testing {
namespace {

// As an estimate finds them: the rows whose line stays within what is left.
std::int64_t RowsThatFit(std::int64_t left, std::int64_t per_row) {
  return PeakLines({{1, per_row}, {2, 2 * per_row}}).LargestRows(left, 1 << 16);
}

// Memory in GB, of which four fifths may be used. In MB: 24 GB is exactly enough for 2 samples of 4 images.
std::int64_t Usable(std::int64_t memory) { return 800 * memory; }
std::int64_t Fit(std::int64_t memory, std::size_t images) {
  return RowsThatFit(Usable(memory) - kWeights, kPerSample[images - 1]);
}
std::int64_t Effective(const Accumulation& pair) { return pair.rows * pair.steps; }

// Two images; printed as 16 each.
TEST(RecommendedTables, PresetsAllFitButTwoMissTheirBatch) {
  struct Preset {
    std::int64_t memory;
    Accumulation pair;
    std::int64_t bytes, effective;
  };
  for (const Preset& preset :
       {Preset{24, {2, 8}, 17'000, 16}, Preset{24, {3, 5}, 18'500, 15}, Preset{40, {4, 4}, 20'000, 16},
        Preset{40, {6, 3}, 23'000, 18}, Preset{80, {8, 2}, 26'000, 16}, Preset{80, {16, 1}, 38'000, 16}}) {
    EXPECT_EQ(kWeights + preset.pair.rows * kPerSample[1], preset.bytes);
    EXPECT_LE(preset.bytes, Usable(preset.memory));
    EXPECT_EQ(Effective(preset.pair), preset.effective);
  }
  EXPECT_EQ(Usable(24), 19'200);
  EXPECT_EQ(Usable(40), 32'000);
  EXPECT_EQ(Usable(80), 64'000);
  EXPECT_EQ(Fit(24, 2), 3);
  EXPECT_EQ(Fit(40, 4), 6);
  EXPECT_EQ(Fit(24, 4), 2);
}

struct Recommended {
  std::int64_t memory;
  std::size_t images;
  Accumulation printed;  // {0, 0}: nothing was
  Accumulation computed;
  std::int64_t effective;
  std::int64_t fit;
  Accumulation corrected;
};
const std::vector<Recommended> kRecommended = {
    {24, 1, {16, 1}, {24, 1}, 24, 6, {4, 4}},   {24, 2, {2, 8}, {14, 1}, 14, 3, {2, 8}},
    {24, 3, {0, 0}, {10, 1}, 10, 2, {2, 8}},    {24, 4, {0, 0}, {7, 2}, 14, 2, {2, 8}},
    {40, 1, {20, 1}, {40, 1}, 40, 22, {16, 1}}, {40, 2, {4, 4}, {23, 1}, 23, 12, {8, 2}},
    {40, 3, {0, 0}, {16, 1}, 16, 8, {8, 2}},    {40, 4, {0, 0}, {12, 1}, 12, 6, {4, 4}},
    {80, 1, {0, 0}, {80, 1}, 80, 62, {16, 1}},  {80, 2, {0, 0}, {47, 1}, 47, 33, {16, 1}},
    {80, 3, {0, 0}, {33, 1}, 33, 23, {16, 1}},  {80, 4, {0, 0}, {25, 1}, 25, 19, {16, 1}},
};

// rows = 0.8 V / (0.8 (1 + 0.7 (N - 1))), steps = 16 // rows: weights are not subtracted, rows not capped,
// steps rounded down.
Accumulation Theirs(std::int64_t memory, std::int64_t images) {
  const std::int64_t rows = std::max<std::int64_t>(1, 80 * memory / (80 + 56 * (images - 1)));
  return {.rows = rows, .steps = std::max<std::int64_t>(1, 16 / rows)};
}

TEST(RecommendedTables, TheirFunctionPrintsOneThingAndComputesAnother) {
  std::int64_t on_target = 0;
  for (const Recommended& row : kRecommended) {
    const Accumulation computed = Theirs(row.memory, static_cast<std::int64_t>(row.images));
    EXPECT_EQ(computed, row.computed) << row.memory << " GB, " << row.images;
    EXPECT_EQ(Effective(computed), row.effective) << row.memory << " GB, " << row.images;
    EXPECT_NE(computed, row.printed) << row.memory << " GB, " << row.images;
    on_target += Effective(computed) == 16 ? 1 : 0;
  }
  EXPECT_EQ(on_target, 1);
}

// A product of what the memory and what the images give would keep the ratio of rows.
TEST(RecommendedTables, NoOneFormulaFitsWhatWasPrinted) {
  EXPECT_EQ(Effective(kRecommended[0].printed), 16);
  EXPECT_EQ(Effective(kRecommended[1].printed), 16);
  EXPECT_EQ(Effective(kRecommended[4].printed), 20);
  EXPECT_EQ(Effective(kRecommended[5].printed), 16);
  EXPECT_NE(kRecommended[0].printed.rows * kRecommended[5].printed.rows,
            kRecommended[1].printed.rows * kRecommended[4].printed.rows);
}

TEST(RecommendedTables, TheCorrectedFunctionKeepsTheBatchAndFits) {
  for (const Recommended& row : kRecommended) {
    EXPECT_EQ(Fit(row.memory, row.images), row.fit) << row.memory << " GB, " << row.images;
    const Accumulation ours = Accumulate(16, row.fit);
    EXPECT_EQ(ours, row.corrected) << row.memory << " GB, " << row.images;
    EXPECT_EQ(Effective(ours), 16);
    EXPECT_LE(kWeights + ours.rows * kPerSample[row.images - 1], Usable(row.memory));
  }
  EXPECT_EQ(Accumulate(16, Fit(24, 2)), (Accumulation{2, 8}));  // the headline
}

TEST(RecommendedTables, MoreMemoryNeverFitsLessNorMoreImagesMore) {
  for (std::int64_t memory = 18; memory < 100; ++memory) {
    for (std::size_t images = 1; images <= 4; ++images) {
      EXPECT_LE(Fit(memory, images), Fit(memory + 1, images));
      EXPECT_LE(Fit(memory, images), Fit(memory, std::max<std::size_t>(images, 2) - 1));
    }
  }
}

TEST(RecommendedTables, WhereTheWeightsDoNotFitNothingIsRecommended) {
  EXPECT_EQ(Fit(16, 1), 0);
  EXPECT_EQ(Accumulate(16, Fit(16, 1)), (Accumulation{0, 0}));
  EXPECT_EQ(kWeights + kPerSample[0] - Usable(16), 2000);  // MB that one row lacks
}

// The negative control: with fractions of GB one of the two rows of 24 GB and four images is lost.
TEST(RecommendedTables, InIntegersWhatIsJustEnoughIsEnoughAndInFloatsNot) {
  const double usable = 19.2, weights = 14, per_sample = 2.6;
  EXPECT_EQ(std::floor((usable - weights) / per_sample), 1);
  EXPECT_EQ(RowsThatFit(5'200'000'000, 2'600'000'000), 2);
  EXPECT_EQ(RowsThatFit(5'200'000'000 - 1, 2'600'000'000), 1);
}

}  // namespace
}  // namespace medley::testing
