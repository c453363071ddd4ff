// Of volumes: a 7B language model with 1 to 4 images of 576 tokens.

#include <array>
#include <cmath>
#include <string>

#include <medley/base/bytes.h>

#include "estimate/seed_tables.h"

namespace medley::testing {
namespace {

constexpr double kLanguage = 7.06e9, kLanguageHeads = 32;
constexpr double kLayerInputs = 4096 * 32 * 2, kLogits = 0.45e6, kOneLayer = 0.19e6, kVision = 28e6;
constexpr double kConstant = 0.2e9;

// Checkpointed, half precision, fused: layer inputs, logits, one recomputed layer; the vision tower.
double Fused(double tokens, double images) {
  return tokens * (kLayerInputs + kLogits + kOneLayer) + images * kVision;
}
// The recomputed layer's scores, twice in half precision and their softmax in fp32.
double Eager(double tokens, double images) {
  return Fused(tokens, images) + kLanguageHeads * tokens * tokens * (2 + 2 + 4);
}
double Tokens(double images) { return 626 + 676 * (images - 1); }
double Printed(int images) { return static_cast<double>(kPerSample[images - 1]) * kMB; }

// Whole patches of a cube.
double Patches(int side, int patch) { return std::pow(side / patch, 3); }

TEST(VolumesTables, Weights) {
  Check({{"parameters in half precision, GB", 14, 14, 2 * kLanguage / kGB, 14.1, ""},
         {"fp32 masters, GB", 14, 14, 4 * kLanguage / kGB, 28.3, "they do not fit 24 GB"}},
        0.005);
}

TEST(VolumesTables, TokensOfPicturesAreNotThoseOfVolumes) {
  constexpr const char* kWhy = "volumes, not pictures of 336 pixels";
  Check({{"tokens of an image", 576, 576, std::pow(336 / 14, 2), 576, ""},
         {"120^3 / 10", 576, 576, Patches(120, 10), 1728, kWhy},
         {"96^3 x 24 / 16^3 x 3", 576, 576, Patches(96, 16) * 24 / 3, 1728, kWhy},
         {"96^3 / 10", 576, 576, Patches(96, 10), 729, kWhy},
         {"128^3 / 18", 576, 576, Patches(128, 18), 343, kWhy},
         {"96^3 / 16", 576, 576, Patches(96, 16), 216, kWhy},
         {"with 50 words", 626, 626, 576 + 50, 626, ""},
         {"with 100 words", 676, 676, 576 + 100, 676, ""},
         {"two images", 1302, 1302, Tokens(2), 1302, ""}},
        0.001);
}

TEST(VolumesTables, TheKeyValueCacheIsFourTimesWhatWasPrinted) {
  const auto cache = [](double tokens, double heads) { return tokens * 2 * 32 * heads * 128 * 2 / kMiB; };
  constexpr const char* kWhy = "the model has 32 key heads, not 8; and training keeps no cache";
  Check({{"one image, MiB", 78, 78, cache(626, 32), 313, kWhy},
         {"two images, MiB", 163, 163, cache(1302, 32), 651, kWhy},
         {"one image, 8 heads, MiB", 78, 78, cache(626, 8), 78.25, ""},
         {"two images, 8 heads, MiB", 163, 163, cache(1302, 8), 162.75, ""}},
        0.001);
}

TEST(VolumesTables, TheArithmeticOfTheTableIsReproduced) {
  Check({{"two images to one", 1.87, 1.87, Printed(2) / Printed(1), 1.875, ""},
         {"three", 2.62, 2.62, Printed(3) / Printed(1), 2.625, ""},
         {"four", 3.25, 3.25, Printed(4) / Printed(1), 3.25, ""},
         {"batch 8, one image, GB", 6.4, 6.4, 8 * Printed(1) / kGB, 6.4, ""},
         {"batch 8, two, GB", 12, 12, 8 * Printed(2) / kGB, 12, ""},
         {"batch 8, three, GB", 16.8, 16.8, 8 * Printed(3) / kGB, 16.8, ""},
         {"batch 8, four, GB", 20.8, 20.8, 8 * Printed(4) / kGB, 20.8, ""}},
        0.001);
}

// "O(n^2) overhead": by its own table each further image costs less than the one before.
TEST(VolumesTables, TheTableIsConcaveWhereEagerAttentionIsConvex) {
  EXPECT_EQ(kPerSample[1] - kPerSample[0], 700);
  EXPECT_EQ(kPerSample[2] - kPerSample[1], 600);
  EXPECT_EQ(kPerSample[3] - kPerSample[2], 500);
  const auto added = [](double images) {
    return Eager(Tokens(images), images) - Eager(Tokens(images - 1), images - 1);
  };
  EXPECT_LT(added(2), added(3));
  EXPECT_LT(added(3), added(4));
}

TEST(VolumesTables, FusedAttentionGivesTheTableAndEagerDoesNot) {
  const auto fused = [](int images) { return Fused(Tokens(images), images) / kGB; };
  const auto whole = [&](int images) { return fused(images) + kConstant / kGB; };
  const auto eager = [](int images) { return Eager(Tokens(images), images) / kGB; };
  const std::array<double, 4> layers = {0.59, 1.22, 1.86, 2.49};
  for (int images = 1; images <= 4; ++images) {
    EXPECT_NEAR(fused(images) / layers[static_cast<std::size_t>(images) - 1], 1, 0.01) << images;
    EXPECT_NEAR(whole(images) * kGB / Printed(images), 1, 0.06) << images;
  }
  constexpr const char *kWhy = "within 6 %", *kEager = "scores of a recomputed layer";
  Check({{"one image, GB", 0.8, 0.8, whole(1), 0.79, ""},
         {"two, GB", 1.5, 1.5, whole(2), 1.42, kWhy},
         {"three, GB", 2.1, 2.1, whole(3), 2.06, ""},
         {"four, GB", 2.6, 2.6, whole(4), 2.69, kWhy},
         {"one image, eager, GB", 0.8, 0.8, eager(1), 0.69, kEager},
         {"two, eager, GB", 1.5, 1.5, eager(2), 1.66, kEager},
         {"three, eager, GB", 2.1, 2.1, eager(3), 2.86, kEager},
         {"four, eager, GB", 2.6, 2.6, eager(4), 4.3, kEager},
         {"two images over one, fused", 1.8, 2.2, fused(2) / fused(1), 2.07, ""},
         {"two images over one, title, fused", 2, 2, fused(2) / fused(1), 2.07, ""},
         {"two images over one, eager", 1.8, 2.2, eager(2) / eager(1), 2.40, kEager}},
        0.01);
}

TEST(VolumesTables, RealVolumesTakeMoreThanTwiceWhatWasPrinted) {
  const double one = 1728 + 50, two = 2 * 1728 + 150;
  constexpr const char* kWhy = "1728 tokens an image, not 576";
  EXPECT_EQ(one, 1778);
  EXPECT_EQ(two, 3606);
  Check({{"one, fused, GB", 0.8, 0.8, (Fused(one, 1) + kConstant) / kGB, 1.8, kWhy},
         {"two, fused, GB", 1.5, 1.5, (Fused(two, 2) + kConstant) / kGB, 3.55, kWhy},
         {"one, eager, GB", 0.8, 0.8, (Eager(one, 1) + kConstant) / kGB, 2.6, kWhy},
         {"two, eager, GB", 1.5, 1.5, (Eager(two, 2) + kConstant) / kGB, 6.85, kWhy}},
        0.02);
}

// "1.7-2.2 x per additional image" says the comment; the code adds 0.7 for each.
TEST(VolumesTables, TheFactorAnImageIsTheSlopeOfALine) {
  for (const int images : {1, 2, 3, 4})
    EXPECT_NEAR(0.25 + 0.60 * images, 0.85 * (1 + 0.706 * (images - 1)), 1e-3);
  Check({{"factor", 0.7, 0.7, 0.60 / 0.85, 0.706, ""},
         {"four images by the code", 3.25, 3.25, 1 + 0.7 * 3, 3.1, "a line's, not the table's"},
         {"four images by the comment", 3.25, 3.25, std::pow(1.7, 3), 4.913, "multiplied, not added"}},
        0.001);
}

TEST(VolumesTables, SavingsAreThreeFiguresForOneThing) {
  const double eight = 8 * 1.5, two = 2 * 1.5, sixteen = 16 * 1.5, weights = 14;
  Check({{"12 to 4 GB", 0.70, 0.70, 1 - 4.0 / 12, 0.667, "67 %"},
         {"8 rows to 2, after, GB", 4, 4, two, 3, "not 4"},
         {"8 rows to 2", 0.70, 0.80, 1 - two / eight, 0.75, ""},
         {"8 rows to 2, elsewhere", 0.50, 0.75, 1 - two / eight, 0.75, ""},
         {"16 rows to 2", 0.70, 0.80, 1 - two / sixteen, 0.875, "24 GB to 3"},
         {"8 rows to 2, with the weights", 0.70, 0.80, 1 - (weights + two) / (weights + eight), 0.346,
          "26 GB to 17: weights stay"},
         {"before, GB", 20, 24, weights + 6.4, 20.4, ""},
         {"after, GB", 4, 6, weights + two, 17, "without the weights that \"before\" includes"}},
        0.005);
}

// Savings and time: accumulation 50-75 % at 1.5-2.0 x, checkpointing 70-85 % at 1.2-1.8, a third step 75-85 %
// at 0.8-1.2, all 75-85 % at 1.3-1.8. For the third step nothing says what it was made from: not a figure.
TEST(VolumesTables, TimesDoNotAddUpAndRatiosAreRightForTheWrongReason) {
  const double forward = 1, backward = 2, again = (2 * forward + backward) / (forward + backward);
  EXPECT_EQ(8 * 2, 1 * 16);  // "8 x more forwards": of the same samples, with smaller kernels
  Check({{"time, checkpointed", 1.2, 1.8, again, 1.33, ""},
         {"time, accumulated and checkpointed, at least", 1.2, 1.8, 1.5 * again, 2.0, "not cumulative"},
         {"time of all, at most", 1.3, 1.8, 2.0 * 1.8 * 1.2, 4.32, "not cumulative"},
         {"savings of two steps, at least", 0.70, 0.85, 1 - 0.5 * 0.3, 0.85, ""},
         {"savings of all, at least", 0.75, 0.85, 1 - 0.5 * 0.3 * 0.25, 0.9625, "nor are these"},
         {"3 h to 4.5 h", 1.5, 1.7, 4.5 / 3, 1.50, ""},
         {"3 h to 5 h", 1.5, 1.7, 5.0 / 3, 1.67, ""},
         {"hours in all", 4, 6, (5 + 30 + 15) / 60.0, 0.833, "its steps take 50 minutes"}},
        0.005);
}

// "-40 %", one digit.
TEST(VolumesTables, ASmallerVolumeSavesWhatWasPrintedOfTheTotalOnly) {
  const auto total = [](double tokens) { return 0.15e9 + Fused(tokens + 50, 0); };
  const double kept = std::pow(96.0 / 128, 3);
  Check({{"voxels and tokens of 96^3 for 128^3", 0.35, 0.45, 1 - kept, 0.578, "58 %"},
         {"of the total", 0.35, 0.45, 1 - total(576 * kept) / total(576), 0.42, ""}},
        0.005);
}

// "0.891 +- 0.003 after 50 epochs" has no log behind it: not a figure. Nor are the keys that a machine
// without CUDA lacks.
TEST(VolumesTables, UnitsCountsAndWarnings) {
  const std::string subject = "subject_01";
  const auto gigabytes = [](const char* text) { return static_cast<double>(ParseBytes(text)) / kGB; };
  Check({{"images of a subject whose name has 10 letters", 10, 10, 1, 1, "a string's length is its letters"},
         {"bytes for it, GB", 6.25, 6.25, 0.25 + 0.60 * 1, 0.85, "one image, not ten"},
         {"a card of 24 \"GB\"", 24, 24, gigabytes("24GiB"), 25.77, "cards have GiB, readouts divide by 1e9"},
         {"24 GB", 24, 24, gigabytes("24GB"), 24, ""},
         {"effective batch of (1, 16)", 8, 32, 1 * 16, 16, ""},
         {"effective batch of (2, 4)", 8, 32, 2 * 4, 8, ""}},
        0.001);
  EXPECT_NEAR(0.25 + 0.60 * static_cast<double>(subject.size()), 6.25, 1e-9);
}

// Measured on a tiny model, 216 tokens an image, MB a sample. The closed form of eager attention is quadratic
// in the images: three of the figures give the fourth.
using Measured = std::array<double, 4>;
constexpr Measured kTiny = {17.0, 40.7, 73.7, 115.9}, kTinyCheckpointed = {5.5, 14.2, 27.7, 45.8};

TEST(VolumesTables, MeasuredPeaksAreQuadraticInTheImages) {
  for (const Measured& peaks : {kTiny, kTinyCheckpointed})
    EXPECT_NEAR((3 * peaks[2] - 3 * peaks[1] + peaks[0]) / peaks[3], 1, 0.005);
  const auto over = [](const Measured& peaks, std::size_t images) { return peaks[images - 1] / peaks[0]; };
  constexpr const char* kWhy = "eager attention is convex";
  Check({{"two images", 1.87, 1.87, over(kTiny, 2), 2.39, kWhy},
         {"three", 2.62, 2.62, over(kTiny, 3), 4.33, kWhy},
         {"four", 3.25, 3.25, over(kTiny, 4), 6.81, kWhy},
         {"two, checkpointed", 1.87, 1.87, over(kTinyCheckpointed, 2), 2.58, kWhy},
         {"three, checkpointed", 2.62, 2.62, over(kTinyCheckpointed, 3), 5.04, kWhy},
         {"four, checkpointed", 3.25, 3.25, over(kTinyCheckpointed, 4), 8.33, kWhy}},
        0.005);
}

TEST(VolumesTables, MeasuredSavings) {
  const auto saved = [](std::size_t images) { return 1 - kTinyCheckpointed[images - 1] / kTiny[images - 1]; };
  constexpr const char* kWhy = "below the range: a tiny model's logits stay";
  Check({{"checkpointing, one image", 0.70, 0.85, saved(1), 0.68, ""},
         {"two", 0.70, 0.85, saved(2), 0.65, kWhy},
         {"three", 0.70, 0.85, saved(3), 0.62, kWhy},
         {"four", 0.70, 0.85, saved(4), 0.61, kWhy},
         {"(2, 8) for (16, 1), activations", 0.875, 0.875, 1 - 2.0 / 16, 0.875, ""},
         {"a frozen Linear: no input kept", 0, 0.1, 1 - 27.9 / 35.2, 0.21, "only the patch layer trains"}},
        0.015);
  const std::array<std::pair<double, double>, 4> batches = {{{1, 40.9}, {2, 80.3}, {4, 162}, {8, 323}}};
  for (const auto& [rows, megabytes] : batches) EXPECT_NEAR(kTiny[1] * rows / megabytes, 1, 0.015) << rows;
}

}  // namespace
}  // namespace medley::testing
