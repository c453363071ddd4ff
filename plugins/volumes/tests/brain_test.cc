// Made-up scans and the conversations about them.
#include "data/brain.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numbers>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "data/examples.h"
#include "tests/models.h"

namespace medley_volumes {
namespace {

constexpr std::int64_t kSide = 24;

medley::RowRandom RandomOf(std::uint64_t seed) { return medley::RowRandom(medley::MixBits(seed)); }
at::Tensor Volume(const Brain& brain, std::uint64_t scan = 1, Contrast contrast = Contrast::kFluidDark) {
  return MakeVolume(brain, contrast, RandomOf(scan), kSide);
}

TEST(Volume, IsAFunctionOfBrainAndScanWithMeanZeroAndDeviationOne) {
  const Brain brain{.subject = 5};
  const at::Tensor volume = Volume(brain);
  EXPECT_EQ(volume.sizes(), (at::IntArrayRef{kSide, kSide, kSide}));
  EXPECT_TRUE(volume.equal(Volume(brain)));
  EXPECT_FALSE(volume.equal(Volume(brain, 2)));
  EXPECT_FALSE(volume.equal(Volume({.subject = 6})));
  EXPECT_NEAR(volume.mean().item<double>(), 0, 1e-5);
  EXPECT_NEAR(volume.std().item<double>(), 1, 1e-3);
}

// The mean of the voxels near the middle, against that of a whole subject's scans: fluid.
double MiddleOf(const at::Tensor& volume) {
  return volume.slice(0, 8, 16).slice(1, 6, 18).slice(2, 7, 17).mean().item<double>();
}

TEST(Volume, LargerVentriclesAreMoreFluid) {
  for (int level = 1; level < kLevels; ++level) {
    for (std::int64_t subject = 0; subject < 8; ++subject) {
      const Brain smaller{.subject = subject, .ventricles = level - 1},
          larger{.subject = subject, .ventricles = level};
      EXPECT_GT(MiddleOf(Volume(smaller)), MiddleOf(Volume(larger))) << level << " " << subject;
      EXPECT_LT(MiddleOf(Volume(smaller, 1, Contrast::kFluidBright)),
                MiddleOf(Volume(larger, 1, Contrast::kFluidBright)));
    }
  }
}

TEST(Volume, ALesionIsInItsOctant) {
  for (int octant = 0; octant < kOctants; ++octant) {
    const at::Tensor changed = Volume({.subject = 3, .lesion = octant}).sub(Volume({.subject = 3})).abs();
    const auto half = [](bool upper) { return upper ? kSide / 2 : 0; };
    const at::Tensor inside = changed.narrow(0, half((octant & 4) != 0), kSide / 2)
                                  .narrow(1, half((octant & 2) != 0), kSide / 2)
                                  .narrow(2, half((octant & 1) != 0), kSide / 2);
    const double here = inside.sum().item<double>(), elsewhere = changed.sum().item<double>() - here;
    EXPECT_GT(here, 3 * elsewhere / (kOctants - 1)) << octant;
  }
}

// Of a half's mean over time, the frequency with the most power, in turns of the series.
int RhythmOf(const at::Tensor& half) {
  const at::Tensor means = half.flatten(1).mean(1).to(at::kDouble);
  const at::Tensor centred = means.sub(means.mean());
  int best = 0;
  double most = -1;
  for (int turns = 1; turns <= kRhythms; ++turns) {
    double real = 0, imaginary = 0;
    for (std::int64_t t = 0; t < centred.size(0); ++t) {
      const double angle =
          2 * std::numbers::pi * turns * static_cast<double>(t) / static_cast<double>(centred.size(0));
      real += centred[t].item<double>() * std::cos(angle);
      imaginary += centred[t].item<double>() * std::sin(angle);
    }
    if (const double power = real * real + imaginary * imaginary; power > most)
      most = power, best = turns - 1;
  }
  return best;
}

TEST(Series, EachHalfHasItsRhythm) {
  for (int left = 0; left < kRhythms; ++left) {
    for (int right = 0; right < kRhythms; ++right) {
      const at::Tensor series = MakeSeries({.subject = 2, .rhythms = {left, right}}, RandomOf(9), 12, 12);
      EXPECT_EQ(series.sizes(), (at::IntArrayRef{12, 12, 12, 12}));
      EXPECT_EQ(RhythmOf(series.narrow(3, 0, 5)), left);
      EXPECT_EQ(RhythmOf(series.narrow(3, 7, 5)), right);
    }
  }
}

// Else the series alone would answer the question about the half with the lesion.
TEST(Series, ShowsNoLesion) {
  for (std::int64_t subject = 0; subject < 4; ++subject) {
    const auto series = [&](int lesion) {
      return MakeSeries({.subject = subject, .lesion = lesion, .rhythms = {0, 2}}, RandomOf(9), 12, 12);
    };
    for (int octant = 0; octant < kOctants; ++octant)
      EXPECT_TRUE(series(octant).equal(series(kNoLesion))) << octant;
  }
}

TEST(Subjects, OfEvaluationsAreNeverTrainings) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    medley::RowRandom random = RandomOf(seed);
    EXPECT_LT(DrawSubject(medley::Split::kTraining, random), kTrainingSubjects);
    EXPECT_GE(DrawSubject(medley::Split::kHeldOut, random), kTrainingSubjects);
  }
}

// Knows of many rows what one scan of them shows, and answers best: by counting.
class Reader {
 public:
  void See(const std::vector<int>& shown, int label) {
    ++counts_[shown][label];
    ++rows_;
  }
  double score() const {
    double right = 0;
    for (const auto& [shown, labels] : counts_) {
      double most = 0;
      for (const auto& [label, count] : labels) most = std::max(most, count);
      right += most;
    }
    return right / rows_;
  }

 private:
  std::map<std::vector<int>, std::map<int, double>> counts_;
  double rows_ = 0;
};

constexpr std::int64_t kManyRows = 90000;

template <typename Draw>
std::pair<double, double> BestOfOne(const Draw& draw) {
  Reader first, second;
  medley::ForEachRow({.seed = 7, .begin = 0, .count = kManyRows}, [&](medley::Row& row) {
    const Pair pair = draw(row);
    first.See({pair.first.ventricles, pair.first.cortex}, pair.label);
    second.See({pair.second.ventricles, pair.second.cortex}, pair.label);
  });
  return {first.score(), second.score()};
}

TEST(Pairs, OneScanAloneTellsWhatIsSaid) {
  const auto [of_first, of_second] = BestOfOne(DrawAgreement);
  EXPECT_NEAR(of_first, 1.0 / 3, 0.01);
  EXPECT_NEAR(of_second, 1.0 / 3, 0.01);
  const auto [before, after] = BestOfOne(DrawChange);
  EXPECT_NEAR(before, 21.0 / 45, 0.01);
  EXPECT_NEAR(after, 1.0 / 5, 0.01);
}

TEST(Rhythms, OneScanAloneTellsWhatIsSaid) {
  Reader of_series, of_volume, of_both;
  medley::ForEachRow({.seed = 7, .begin = 0, .count = kManyRows}, [&](medley::Row& row) {
    const auto [brain, label] = DrawRhythm(row);
    of_series.See({brain.rhythms[0], brain.rhythms[1]}, label);
    of_volume.See({brain.lesion, brain.asymmetry}, label);
    of_both.See({brain.rhythms[0], brain.rhythms[1], brain.lesion}, label);
  });
  const Conversation said = Rows(1, [](medley::Row& row) { return MultimodalExample(row, {8, 4, 4}, 1); })[0];
  EXPECT_NEAR(of_series.score(), said.one_scan, 0.01);
  EXPECT_NEAR(of_volume.score(), 1.0 / 3, 0.01);
  EXPECT_EQ(of_both.score(), 1);
}

TEST(Pairs, DifferInWhatTheLabelSaysAndInNothingElse) {
  medley::ForEachRow({.seed = 8, .begin = 0, .count = 500}, [](medley::Row& row) {
    const Pair pair = DrawChange(row);
    EXPECT_EQ(pair.second.ventricles - pair.first.ventricles, pair.label == 1 ? 1 : pair.label == 2 ? -1 : 0);
    EXPECT_EQ(pair.second.cortex - pair.first.cortex, pair.label == 3 ? 1 : pair.label == 4 ? -1 : 0);
    for (const int level : {pair.first.ventricles, pair.first.cortex})
      EXPECT_TRUE(level >= 0 && level < kLevels);
    EXPECT_EQ(pair.first.subject, pair.second.subject);
    EXPECT_EQ(pair.first.lesion, pair.second.lesion);
  });
}

std::string LastAnswer(const Conversation& conversation) {
  return std::get<std::string>(conversation.turns.back().items[0]);
}

TEST(Examples, AskForEveryAnswerEquallyOften) {
  const Geometry geometry{8, 4, 4};
  std::map<std::string, int> single, compare;
  std::set<std::int64_t> scans;
  for (const Conversation& row : Rows(180, [&](medley::Row& row) { return SingleExample(row, geometry); }))
    ++single[std::get<std::string>(row.turns[0].items.back()) + LastAnswer(row)];
  EXPECT_EQ(single.size(), 5u + 5u + 9u + 3u);
  for (const auto& [answer, count] : single) EXPECT_TRUE(count == 9 || count == 5 || count == 15) << answer;
  for (const Conversation& row :
       Rows(200, [&](medley::Row& row) { return CompareExample(row, geometry, 3, false); })) {
    ++compare[LastAnswer(row)];
    scans.insert(CountScans(row).volumes);
  }
  EXPECT_EQ(compare.size(), 5u);
  for (const auto& [answer, count] : compare) EXPECT_EQ(count, 40) << answer;
  EXPECT_EQ(scans, (std::set<std::int64_t>{2, 3, 4}));
}

TEST(Examples, AControlsReferencesShowNothing) {
  const Geometry geometry{8, 4, 4};
  for (const Conversation& row :
       Rows(5, [&](medley::Row& row) { return CompareExample(row, geometry, 1, true); })) {
    EXPECT_EQ(std::get<Scan>(row.turns[0].items[0]).voxels().abs().sum().item<double>(), 0);
    EXPECT_GT(std::get<Scan>(row.turns[2].items[0]).voxels().abs().sum().item<double>(), 0);
  }
}

}  // namespace
}  // namespace medley_volumes
