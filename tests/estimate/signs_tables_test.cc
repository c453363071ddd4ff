// Of signs: a SPOTER-like encoder over frames of 54 joints, 8 layers, padded to 150 frames.

#include <medley/step/accumulation.h>

#include <array>
#include <cmath>
#include <utility>

#include "estimate/seed_tables.h"

namespace medley::testing {
namespace {

constexpr double kParameters = 1'319'434, kLayers = 8, kHeads = 9, kWidth = 108, kFeed = 512, kPadded = 150;

// Bytes of one sample's tensors, fp32, the class token among the positions.
double Row(double frames) { return 4 * (frames + 1) * kWidth; }
double Scores(double frames) { return 4 * kHeads * (frames + 1) * (frames + 1); }
double Hidden(double frames) { return 4 * (frames + 1) * kFeed; }
double InputBytes(double rows, double frames = kPadded) { return rows * frames * kWidth * 4; }

// What a layer's operators keep besides: scores, feed-forward, residuals, input; in units of their tensors.
struct Kept {
  double scores, feed, residual, input;
};
constexpr Kept kOnCpu{3, 3, 2, 1};             // dropout, masks as floats
constexpr Kept kOnGpu{2.25, 2.25, 0.5, 0.25};  // dropout, masks as bools
constexpr Kept kWithoutDropout{1, 2, 0, 0};

// Bytes of one sample that are kept for the backward. `fused`: attention keeps a sum a row, no scores.
double Saved(const Kept& kept, double frames = kPadded, bool fused = false) {
  const double positions = frames + 1;
  const double scores = fused ? 4 * kHeads * positions : kept.scores * Scores(frames);
  const double layer =
      8 * Row(frames) + scores + kept.feed * Hidden(frames) + kept.residual * Row(frames) + 16 * positions;
  return kLayers * layer + (2 + kept.input) * InputBytes(1, frames) + 8 * positions;
}

// What the backward has above that at its widest: with dropout the first gradient of the last layer's hidden
// features; without, two gradients of its scores, when its feed-forward, norms and values are free.
double Backward(const Kept& kept) {
  return kept.residual > 0 ? Hidden(kPadded) : 2 * Scores(kPadded) - 2 * Hidden(kPadded) - 5 * Row(kPadded);
}

// A forward without gradients: scores and their softmax beside a layer's input, queries, keys and values.
double Inference() { return 2 * Scores(kPadded) + 6 * Row(kPadded); }

// Weights, gradients and two moments; input; activations. At the allocator, without context.
double TrainingTotal(double rows) { return 16 * kParameters + InputBytes(rows) + rows * Saved(kOnGpu); }

constexpr double kWorkspaces = 2 * 8.125 * kMiB, kLeastContext = 0.35,
                 kMostContext = 0.6;  // the latter in GB
double OnGpu(double bytes, double context) { return context + (bytes + kWorkspaces) / kGB; }

TEST(SignsTables, StaticPartAndInputAreReproduced) {
  Check({{"weights, MB", 5.2, 5.2, 4 * kParameters / kMB, 5.278, ""},
         {"gradients, MB", 5.2, 5.2, 4 * kParameters / kMB, 5.278, ""},
         {"AdamW, MB", 10.4, 10.4, 8 * kParameters / kMB, 10.555, ""},
         {"input of 4, MB", 0.5, 2, InputBytes(4) / kMB, 0.26, "its range begins at 8 rows"},
         {"input of 8, MB", 0.5, 2, InputBytes(8) / kMB, 0.518, ""},
         {"input of 16, MB", 0.5, 2, InputBytes(16) / kMB, 1.04, ""},
         {"input of 32, MB", 0.5, 2, InputBytes(32) / kMB, 2.07, ""}},
        0.005);
}

TEST(SignsTables, ActivationsAreFiveToTwentyTimesWhatWasPrinted) {
  constexpr const char* kWhy = "right for 16 to 50 frames; the clips are padded to 150";
  Check({{"8 rows, a GPU, MB", 10, 40, 8 * Saved(kOnGpu) / kMB, 200, kWhy},
         {"8 rows, the CPU, MB", 10, 40, 8 * Saved(kOnCpu) / kMB, 261, kWhy},
         {"8 rows without dropout, MB", 10, 40, 8 * Saved(kWithoutDropout) / kMB, 127, kWhy},
         {"8 rows, fused, MB", 10, 40, 8 * Saved(kOnGpu, kPadded, true) / kMB, 82, kWhy},
         {"8 rows, fused, half precision, MB", 10, 40, 4 * Saved(kOnGpu, kPadded, true) / kMB, 41, ""},
         {"8 rows of 50 frames, MB", 10, 40, 8 * Saved(kOnGpu, 50) / kMB, 41, ""},
         {"8 rows of 16 frames, MB", 10, 40, 8 * Saved(kOnGpu, 16) / kMB, 10.7, ""}},
        0.01);
  // The rows of the closed form itself, MB a sample.
  const std::array<double, 4> frames = {50, 100, 150, 510};
  const std::array<std::array<double, 4>, 3> table = {
      {{6.59, 17.41, 32.56, 269}, {5.12, 13.41, 24.94, 204}, {3.88, 9.14, 15.84, 107}}};
  const std::array<Kept, 3> rows = {kOnCpu, kOnGpu, kWithoutDropout};
  for (std::size_t kind = 0; kind < rows.size(); ++kind) {
    for (std::size_t i = 0; i < frames.size(); ++i)
      EXPECT_NEAR(Saved(rows[kind], frames[i]) / kMB, table[kind][i], table[kind][i] * 0.005);
  }
}

TEST(SignsTables, BackwardAddsLittleToTheActivations) {
  constexpr const char* kWhy = "not \"the same as activations\": it frees them as it goes";
  Check({{"8 rows, MB", 10, 40, 8 * Backward(kOnCpu) / kMB, 0.01 * 261, kWhy},
         {"8 rows without dropout, MB", 10, 40, 8 * Backward(kWithoutDropout) / kMB, 0.04 * 127, kWhy}},
        0.12);
  const double added = Backward(kOnCpu) / Saved(kOnCpu);
  EXPECT_GT(added, 0.006);
  EXPECT_LT(added, 0.01);
  EXPECT_NEAR(Backward(kWithoutDropout) / Saved(kWithoutDropout), 0.04, 0.005);
}

// "Accumulates 2 steps, effective 16, less peak."
TEST(SignsTables, AccumulationSavesOnlyAgainstTheLargerBatch) {
  const auto peak = [](std::int64_t rows) {
    return static_cast<double>(rows) * (Saved(kOnCpu) + Backward(kOnCpu)) / kMB;
  };
  const std::array<std::pair<std::int64_t, double>, 4> measured = {
      {{4, 131}, {8, 263}, {16, 525}, {32, 1050}}};
  for (const auto& [rows, megabytes] : measured) EXPECT_NEAR(peak(rows) / megabytes, 1, 0.005) << rows;
  const Accumulation ours = Accumulate(16, 8);
  EXPECT_EQ(ours, (Accumulation{8, 2}));
  Check({{"its peak, of 16 rows'", 0.5, 0.5, peak(ours.rows) / peak(16), 0.5, ""},
         {"its peak, of 8 rows': \"less\"", 0.5, 0.5, peak(ours.rows) / peak(8), 1, "it runs 8 rows at once"},
         {"6 GB: 16 x 2", 32, 32, 16.0 * static_cast<double>(Accumulate(32, 16).steps), 32, ""}},
        0.005);
}

// "Attention masking reduces memory."
TEST(SignsTables, AMaskLeavesTheScoresAsTheyArePaddedAndTrimmingWould) {
  const double clip = 50, mask = 4 * (kPadded + 1) * (kPadded + 1);  // is added to scores of all pairs
  const double masked = Scores(kPadded);                             // whatever is hidden
  EXPECT_GT(Saved(kOnCpu) + mask, Saved(kOnCpu));
  EXPECT_LT(Saved(kOnCpu, clip), 0.21 * Saved(kOnCpu));
  Check({{"scores of 50 frames in 150, of the padded: \"less\"", 0, 0.9, masked / Scores(kPadded), 1,
          "they stay positions times positions"},
         {"trimmed to the longest of the batch", 0, 0.9, Scores(clip) / Scores(kPadded), 0.114, ""}},
        0.005);
}

TEST(SignsTables, TheTotalContradictsItsOwnRows) {
  const double low = 5.2 + 5.2 + 10.4 + 0.5 + 10 + 10, high = 5.2 + 5.2 + 10.4 + 2 + 40 + 40;
  const double fixed = 16 * kParameters, total = TrainingTotal(8), halved = fixed + (total - fixed) / 2;
  Check({{"low end by its rows, MB", 31, 31, low, 41.3, "30.9 of its rows"},
         {"high end by its rows, MB", 98, 98, high, 102.8, "97.6 of its rows"},
         {"low end without its optimizer row, MB", 31, 31, low - 10.4, 30.9, ""},
         {"high end without a row of 5.2, MB", 98, 98, high - 5.2, 97.6, ""},
         {"8 rows in all, MB", 31, 98, total / kMB, 222, "activations of 150 frames, and no second copy"},
         {"half precision saves", 0.5, 0.5, 1 - halved / total, 0.45, "16 bytes a parameter stay"}},
        0.01);
  EXPECT_NEAR(halved / kMB, 121, 1);
  EXPECT_NE(static_cast<int>(kWidth / kHeads) % 8, 0);  // nor has every device kernels for heads of 12
}

// "1.5-2, 2.5-3, 4-5, 7-8 GB for 4, 8, 16, 32 rows": a line through the outer midpoints, or by least squares.
constexpr std::array<std::pair<double, double>, 4> kMiddle = {{{4, 1.75}, {8, 2.75}, {16, 4.5}, {32, 7.5}}};
constexpr double kSlope = (7.5 - 1.75) / 28, kOffset = 1.75 - 4 * kSlope;
double Line(double rows) { return kOffset + kSlope * rows; }

TEST(SignsTables, TheBatchTableIsALineEightTimesTooSteep) {
  EXPECT_NEAR(kSlope, 0.205, 0.001);
  EXPECT_NEAR(kOffset, 0.93, 0.01);
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (const auto& [rows, gigabytes] : kMiddle)
    n += 1, x += rows, y += gigabytes, xx += rows * rows, xy += rows * gigabytes;
  const double least_squares = (n * xy - x * y) / (n * xx - x * x);
  EXPECT_NEAR(least_squares, 0.203, 0.001);
  EXPECT_NEAR((y - least_squares * x) / n, 1.08, 0.01);

  EXPECT_NEAR(kSlope / (Saved(kOnGpu) / kGB), 8, 0.3);
  EXPECT_NEAR(Saved(kOnGpu, 510) / kGB, kSlope, 0.002);  // the frames that it would take
  EXPECT_NEAR(2.5 / 0.098, 25, 1);                       // times the same note's other table
  EXPECT_NEAR(3 / 0.031, 97, 1);
}

TEST(SignsTables, TheBatchTableIsCorrectedWithTheContext) {
  const auto least = [](double rows) { return OnGpu(TrainingTotal(rows), kLeastContext); };
  const auto most = [](double rows) { return OnGpu(TrainingTotal(rows), kMostContext); };
  constexpr const char* kWhy = "25 MB a sample, and the context";
  Check({{"4 rows, GB", 1.5, 2, least(4), 0.5, kWhy},
         {"8 rows, at least, GB", 2.5, 3, least(8), 0.6, kWhy},
         {"8 rows, at most, GB", 2.5, 3, most(8), 0.84, kWhy},
         {"16 rows, at least, GB", 4, 5, least(16), 0.8, kWhy},
         {"16 rows, at most, GB", 4, 5, most(16), 1.04, kWhy},
         {"32 rows, at least, GB", 7, 8, least(32), 1.2, kWhy},
         {"32 rows, at most, GB", 7, 8, most(32), 1.45, kWhy}},
        0.03);
}

// "1050 Ti: 8 rows; 3070: 16 to 24; 3060, 3080: 32"; beside it the table has "8 GB: 32 rows".
TEST(SignsTables, TheGpuListFollowsTheLineAndContradictsTheTable) {
  Check({{"8 rows on a 1050 Ti, GB of 4", 0, 4, Line(8), 2.6, ""},
         {"16 rows on a 3070, GB of 8", 0, 8, Line(16), 4.2, ""},
         {"24 rows on a 3070, GB of 8", 0, 8, Line(24), 5.9, ""},
         {"32 rows on a 3080, GB of 10", 0, 10, Line(32), 7.5, ""},
         {"32 rows on a 3060, GB of 12", 0, 12, Line(32), 7.5, ""},
         {"rows on 8 GB by the list", 16, 24, std::floor((8 - kOffset) / kSlope), 34,
          "the table's line has 32 there, too"}},
        0.02);
}

// Phases 3, 4 and 5: "2-3, 4-6, 2-3 GB"; evaluation, 32 rows: "2-3 GB".
TEST(SignsTables, PhasesAndEvaluationAreFourToSixTimesTooHigh) {
  constexpr const char* kWhy = "25 MB a sample, and the context";
  const double reserved = 220 * kMiB;  // phase 3, as measured
  Check({{"phase 3, GB", 2, 3, OnGpu(reserved - kWorkspaces, kLeastContext), 0.58, kWhy},
         {"phase 4, 8 rows, GB", 4, 6, OnGpu(TrainingTotal(8), kLeastContext), 0.6, kWhy},
         {"phase 4, 16 rows, GB", 4, 6, OnGpu(TrainingTotal(16), kMostContext), 1.04, kWhy},
         {"phase 5, 8 rows, GB", 2, 3, OnGpu(TrainingTotal(8), kLeastContext), 0.6, kWhy}},
        0.02);
  const double above = 32 * Inference(), weights = 4 * kParameters;
  constexpr const char* kNoGraph = "nothing is kept for a backward";
  Check({{"evaluation of 32 above the weights, GB", 2, 3, above / kGB, 0.0653, kNoGraph},
         {"with context, at least, GB", 2, 3, OnGpu(above + weights, kLeastContext), 0.44, kNoGraph},
         {"with context, at most, GB", 2, 3, OnGpu(above + weights, kMostContext), 0.69, kNoGraph}},
        0.01);
  EXPECT_NEAR(Inference() / kMB, 2.04, 0.01);
}

// The one measurement on a GPU in those sources (phase 3): 48.7 MiB allocated, two models, 16 x 100 frames.
// That it was "phase 4, cell 16" is not a figure; it was phase 3.
TEST(SignsTables, TheOnlyMeasurementIsMetWithTwoWorkspaces) {
  EXPECT_EQ(973'674 + 1'041'990, 2'015'664);
  const double parts = 16 * 2'015'664.0 + InputBytes(16, 100) + 0.3 * kMiB;
  Check({{"weights to moments, MiB", 30.76, 30.76, 16 * 2'015'664.0 / kMiB, 30.76, ""},
         {"input, MiB", 0.66, 0.66, InputBytes(16, 100) / kMiB, 0.66, ""},
         {"allocated, MiB", 48.7, 48.7, (parts + kWorkspaces) / kMiB, 48.0, ""},
         {"without workspaces, MiB", 48.7, 48.7, parts / kMiB, 31.7, "a third is missing"},
         {"allocated, \"MB\"", 48.7, 48.7, 48.7 * kMiB / kMB, 51.07, "divided by 1024 twice: MiB"}},
        0.005);
}

}  // namespace
}  // namespace medley::testing
