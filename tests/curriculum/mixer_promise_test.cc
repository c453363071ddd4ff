// What the mixer promises whatever happens to its weights: the theorem of DECISIONS.md, on cases that are
// known. mixer_search_test.cc looks for others.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "curriculum/watched_mixer.h"

namespace medley::testing {
namespace {

// The theorem allows more; of ordinary changes this was seen: 1.00 of a largest batch.
TEST(MixerPromise, AfterOrdinaryChangesNoTaskIsMuchMoreThanABatchBehind) {
  enum class Change { kDrift, kPauseInTurn, kAnew, kRamp, kRampOfSome };
  for (const Change change :
       {Change::kDrift, Change::kPauseInTurn, Change::kAnew, Change::kRamp, Change::kRampOfSome}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const RandomMix mix(seed);
      RowRandom random(CombineSeeds(seed, 5));
      std::vector<double> weights = mix.weights;
      WatchedMixer mixer(MixtureOf(weights), SizesOf(mix.rows));
      for (std::size_t edit = 1; edit <= 12; ++edit) {
        mixer.Draw(50);
        if (change == Change::kPauseInTurn) weights = mix.weights;
        for (double& weight : weights) {
          if (change == Change::kDrift) weight *= random.Uniform(0.3, 3);
          if (change == Change::kAnew || change == Change::kRamp) weight = random.Uniform(0.001, 50);
          if (change == Change::kRampOfSome) weight = random.Coin() ? 0 : random.Uniform(0.001, 50);
        }
        weights[edit % weights.size()] = change == Change::kPauseInTurn ? 0 : 1;
        Ramp ramp;
        if (change == Change::kRamp) ramp = {.draws = 30, .shape = RampShape::kCosine};
        if (change == Change::kRampOfSome) ramp.draws = 70;  // which the next change meets half-way
        mixer.SetMixture(MixtureOf(weights), ramp);
      }
      mixer.Draw(50);
      ASSERT_EQ(mixer.broken(), "") << "seed " << seed;
      ASSERT_LE(mixer.furthest(), 1.25) << "seed " << seed;
    }
  }
}

// What is left of leads is all that a task may wait for; where 1.25 largest batches were promised without a
// proof, these put one 1.318 and 1.370 behind.
TEST(MixerPromise, OneEditPutsNobodyFurtherBehindThanWhatIsLeftOfTheLeads) {
  struct Edited {
    std::vector<double> before, after;
    std::int64_t draws;
    double furthest;
  };
  for (const Edited& edited : {Edited{{3, 7, 4, 5, 1, 2}, {1, 1, 1, 2, 5, 10}, 86, 1.318},
                               Edited{{564, 80, 1, 10}, {227, 30, 2, 985}, 117, 1.370}}) {
    const std::vector<std::int64_t> rows(edited.before.size(), 4);
    WatchedMixer mixer(MixtureOf(edited.before), SizesOf(rows));
    mixer.Draw(edited.draws);
    EXPECT_LT(mixer.furthest(), 1);
    mixer.SetMixture(MixtureOf(edited.after));
    mixer.Draw(2000);
    EXPECT_EQ(mixer.broken(), "");
    EXPECT_NEAR(mixer.furthest(), edited.furthest, 5e-4);
  }
}

// Whatever a mixer draws, all goes to those that it has not drawn yet: the last of them is owed a half, a
// third and so on, and its promise can be no smaller.
TEST(MixerPromise, NoMixerCanPromiseAllTasksMuchLess) {
  for (const std::size_t n : {2, 5, 16, 40}) {
    WatchedMixer mixer(MixtureOf(std::vector<double>(n, 1)), SizesOf(std::vector<std::int64_t>(n, 4)));
    double least = 0;
    for (std::size_t waiting = n; waiting > 1; --waiting) {
      mixer.SetMixture(MixtureOf(mixer.ToThoseBehind(waiting)));
      mixer.Draw(1);
      least += 1.0 / static_cast<double>(waiting);
    }
    EXPECT_EQ(mixer.broken(), "");
    EXPECT_NEAR(mixer.furthest(), least, 1e-5) << n << " tasks";
    EXPECT_LE(least, mixer.FurthestPromised());
  }
}

TEST(MixerPromise, HoldsForASteadyMixtureInEveryUnit) {
  for (const ShareUnit unit : {ShareUnit::kRows, ShareUnit::kSteps, ShareUnit::kTokens, ShareUnit::kPasses}) {
    for (std::uint64_t seed = 0; seed < 25; ++seed) {
      const RandomMix mix(seed);
      RowRandom random(seed + 2000);
      Sizes sizes = SizesOf(mix.rows);
      for (auto& [name, size] : sizes)
        size.passes = 1 + random.Below(5), size.tokens_per_row = 1 + random.Below(300);
      WatchedMixer mixer(MixtureOf(mix.weights, unit), sizes);
      mixer.Draw(400);
      EXPECT_EQ(mixer.broken(), "") << "seed " << seed;
      EXPECT_LT(mixer.furthest(), 1) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace medley::testing
