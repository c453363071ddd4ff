#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include <medley/curriculum/mixer.h>
#include <medley/curriculum/shares.h>

#include "curriculum/mixer_fixtures.h"

namespace medley::testing {
namespace {

// Fixed-point shares differ from the rational ones by up to 2^-32 each, so after N units by N * 2^-32.
double Slack(const Ledger& ledger) { return 1e-6 + static_cast<double>(ledger.total()) * 0x1p-31; }

TEST(Shares, AddUpToTwoToThe32ForAnyWeights) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const RandomMix mix(seed);
    const std::vector<std::int64_t> shares = FixedShares(mix.weights);
    double sum = 0;
    for (const double weight : mix.weights) sum += weight;
    std::int64_t total = 0;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      total += shares[i];
      ASSERT_NEAR(static_cast<double>(shares[i]), mix.weights[i] / sum * 0x1p32, 1.0) << "seed " << seed;
    }
    ASSERT_EQ(total, std::int64_t{1} << 32) << "seed " << seed;
  }
}

TEST(Shares, TheUnitsThatAreLeftGoToTheLargestRemainders) {
  EXPECT_EQ(FixedShares({1, 1, 1}), (std::vector<std::int64_t>{1431655766, 1431655765, 1431655765}));
  EXPECT_EQ(FixedShares({1, 0, 1}), (std::vector<std::int64_t>{1LL << 31, 0, 1LL << 31}));
  // 2^32 * {1, 2} / 3 ends in .33 and .67.
  EXPECT_EQ(FixedShares({1, 2}), (std::vector<std::int64_t>{1431655765, 2863311531}));
}

TEST(Mixer, NoTaskIsEverALargestBatchBehindNorMoreThanItsOwnBatchAhead) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const RandomMix mix(seed);
    const auto largest = static_cast<double>(*std::max_element(mix.rows.begin(), mix.rows.end()));
    Mixer mixer(MixtureOf(mix.weights), SizesOf(mix.rows), seed);
    Ledger ledger(mix.weights);
    for (int draw = 0; draw < 500; ++draw) {
      const Draw drawn = DrawOne(mixer);
      ledger.Add(drawn.task, drawn.rows);
      for (std::size_t i = 0; i < ledger.size(); ++i) {
        ASSERT_LT(ledger.Behind(i), largest + Slack(ledger)) << "seed " << seed << " draw " << draw;
        ASSERT_LE(-ledger.Behind(i), (1 - ledger.share(i)) * static_cast<double>(mix.rows[i]) + Slack(ledger))
            << "seed " << seed << " draw " << draw << " task " << i;
      }
    }
  }
}

TEST(Mixer, TheBoundHoldsWhenBatchesChangeAtEveryDraw) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const RandomMix mix(seed);
    RowRandom random(seed);
    Sizes sizes = SizesOf(mix.rows);
    constexpr std::int64_t kLargest = 150;
    sizes[Name(0)].rows = kLargest;  // keeps the largest batch what it is
    Mixer mixer(MixtureOf(mix.weights), sizes, seed);
    Ledger ledger(mix.weights);
    for (int draw = 0; draw < 500; ++draw) {
      const auto changed =
          1 + static_cast<std::size_t>(random.Below(static_cast<std::int64_t>(mix.rows.size()) - 1));
      mixer.SetSize(Name(changed), {.rows = 1 + random.Below(kLargest)});
      const Draw drawn = DrawOne(mixer);
      ledger.Add(drawn.task, drawn.rows);
      for (std::size_t i = 0; i < ledger.size(); ++i) {
        ASSERT_LT(ledger.Behind(i), kLargest + Slack(ledger)) << "seed " << seed << " draw " << draw;
      }
    }
  }
}

TEST(Mixer, TheBoundHoldsInTokensPassesAndSteps) {
  for (const ShareUnit unit : {ShareUnit::kTokens, ShareUnit::kPasses, ShareUnit::kSteps}) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      const RandomMix mix(seed);
      RowRandom random(seed + 1000);
      Sizes sizes = SizesOf(mix.rows);
      std::map<std::string, std::int64_t> charge;
      std::int64_t largest = 0;
      for (auto& [name, size] : sizes) {
        size.passes = 1 + random.Below(5);
        size.tokens_per_row = 16 * (1 + random.Below(20));
        charge[name] = unit == ShareUnit::kSteps    ? 1
                       : unit == ShareUnit::kTokens ? size.rows * size.tokens_per_row
                                                    : size.rows * size.passes;
        largest = std::max(largest, charge[name]);
      }
      Mixer mixer(MixtureOf(mix.weights, unit), sizes, seed);
      Ledger ledger(mix.weights);
      for (int draw = 0; draw < 400; ++draw) {
        const Draw drawn = DrawOne(mixer);
        ledger.Add(drawn.task, charge[drawn.task]);
        for (std::size_t i = 0; i < ledger.size(); ++i) {
          ASSERT_LT(ledger.Behind(i), static_cast<double>(largest) + Slack(ledger)) << "seed " << seed;
        }
      }
      EXPECT_EQ(mixer.Shares().at(Name(0)).charged, ledger.charged(0));
    }
  }
}

// The greedy rules that look right deliver 0/50/0/50 % here.
TEST(Mixer, EqualWeightsAtUnequalBatchesAreEqualShares) {
  Mixer mixer(MixtureOf({1, 1, 1, 1}), SizesOf({150, 37, 150, 12}), 0);
  for (int draw = 0; draw < 20000; ++draw) DrawOne(mixer);
  for (const auto& [name, share] : mixer.Shares()) EXPECT_NEAR(share.delivered, 0.25, 1e-4) << name;
}

// Every mixer that weighs draws delivers 81.2/13.3/5.4 % here.
TEST(Mixer, SixtyTwentyTwentyIsAtMost31RowsOff) {
  const std::vector<double> weights = {24, 8, 8};
  Mixer mixer(MixtureOf(weights), SizesOf({75, 37, 15}), 0);
  Ledger ledger(weights);
  double worst = 0;
  for (int draw = 0; draw < 20000; ++draw) {
    const Draw drawn = DrawOne(mixer);
    ledger.Add(drawn.task, drawn.rows);
    for (std::size_t i = 0; i < 3; ++i) worst = std::max(worst, std::abs(ledger.Behind(i)));
  }
  EXPECT_NEAR(worst, 31.4, 1e-3);  // of exact arithmetic; the published figure is rounded to 31
  EXPECT_LT(mixer.ShareError(), 0.0001);
  EXPECT_NEAR(mixer.Shares().at(Name(0)).asked, 0.6, 1e-9);
}

TEST(Mixer, ATaskAtOneInAThousandIsNotStarved) {
  Mixer mixer(MixtureOf({1000, 1, 1000, 1, 1}), SizesOf({16, 16, 150, 12, 150}), 0);
  for (int draw = 0; draw < 100000; ++draw) DrawOne(mixer);
  const auto shares = mixer.Shares();
  double total = 0;
  for (const auto& [name, share] : shares) total += static_cast<double>(share.charged);
  for (const auto& [name, share] : shares) {
    EXPECT_NEAR(static_cast<double>(share.charged), share.asked * total, 150) << name;
    EXPECT_GT(share.draws, 0) << name;
  }
}

TEST(Mixer, TiesGoToTheTaskThatStandsFirst) {
  Mixer mixer(MixtureOf({1, 1, 1}), SizesOf({16, 16, 16}), 0);
  std::vector<std::string> order;
  for (int draw = 0; draw < 6; ++draw) order.push_back(DrawOne(mixer).task);
  EXPECT_EQ(order, (std::vector<std::string>{"task0", "task1", "task2", "task0", "task1", "task2"}));
}

}  // namespace
}  // namespace medley::testing
