#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include <medley/base/error.h>
#include <medley/curriculum/mixer.h>
#include <medley/curriculum/shares.h>

#include "curriculum/mixer_fixtures.h"

namespace medley::testing {
namespace {

// What a task is owed, in units, and the exact sum over all tasks in 2^-32 parts.
double Owed(const Mixer& mixer, const std::string& task) {
  const nlohmann::json state = mixer.Save();
  for (const auto& saved : state["tasks"]) {
    if (saved["name"] == task) {
      return saved["owed"][0].get<double>() + saved["owed"][1].get<double>() * 0x1p-32;
    }
  }
  return 0;
}

std::int64_t SumOfOwed(const Mixer& mixer) {
  std::int64_t sum = 0;
  const nlohmann::json state = mixer.Save();
  for (const auto& saved : state["tasks"]) {
    sum +=
        saved["owed"][0].get<std::int64_t>() * (std::int64_t{1} << 32) + saved["owed"][1].get<std::int64_t>();
  }
  return sum;
}

int LongestRun(Mixer& mixer, int draws) {
  int longest = 0, run = 0;
  std::string last;
  for (int i = 0; i < draws; ++i) {
    const std::string task = DrawOne(mixer).task;
    run = task == last ? run + 1 : 1;
    last = task;
    longest = std::max(longest, run);
  }
  return longest;
}

TEST(SetMixture, CarriesWhatTasksAreOwedAndNothingElse) {
  Mixer mixer(MixtureOf({6, 2, 2}), SizesOf({75, 37, 15}), 0);
  for (int i = 0; i < 123; ++i) DrawOne(mixer);
  const std::vector<double> before = {Owed(mixer, "task0"), Owed(mixer, "task1"), Owed(mixer, "task2")};
  mixer.SetMixture(MixtureOf({2, 2, 6}), {}, Mixer::Accounts::kOpenAnew);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(Owed(mixer, Name(i)), before[i]);
  EXPECT_EQ(mixer.ShareError(), 0);
  EXPECT_EQ(mixer.Shares().at("task2").charged, 0);
}

// Judging 100,000 rows of the past by the new weights gives 2,681 draws of one task in a row.
TEST(SetMixture, IsNoBurstOfOneTask) {
  Mixer mixer(MixtureOf({60, 20, 20}), SizesOf({15, 15, 15}), 0);
  for (int i = 0; i < 100000 / 15; ++i) DrawOne(mixer);
  mixer.SetMixture(MixtureOf({20, 20, 60}));
  EXPECT_LE(LongestRun(mixer, 3000), 8);
  EXPECT_LT(mixer.ShareError(), 0.001);
}

// Forgetting the residuals at each change delivers 83.4/0/16.6 % of such a ramp.
TEST(SetMixture, ARampDeliversWhatItAsks) {
  Mixer mixer(MixtureOf({60, 20, 20}), SizesOf({75, 37, 15}), 0);
  std::vector<double> asked(3), delivered(3);
  for (int i = 0; i <= 200; ++i) {
    const double t = i / 200.0;
    const std::vector<double> weights = {60 - 40 * t, 20, 20 + 40 * t};
    mixer.SetMixture(MixtureOf(weights));
    const Draw draw = DrawOne(mixer);
    for (std::size_t k = 0; k < 3; ++k) asked[k] += weights[k] / 100 * static_cast<double>(draw.rows);
    delivered[std::stoul(draw.task.substr(4))] += static_cast<double>(draw.rows);
  }
  for (std::size_t k = 0; k < 3; ++k) EXPECT_LT(std::abs(asked[k] - delivered[k]), 75) << k;
}

TEST(Ramps, StandWhereALineAndACosineDo) {
  for (const std::int64_t draws : {1, 2, 7, 200, 100'003}) {
    std::int64_t before = 0;
    for (std::int64_t draw = 1; draw <= draws; draw += 1 + draws / 500) {
      const double x = static_cast<double>(draw) / static_cast<double>(draws);
      const std::int64_t line = RampPosition({draws, RampShape::kLinear}, draw),
                         cosine = RampPosition({draws, RampShape::kCosine}, draw);
      EXPECT_NEAR(static_cast<double>(line) * 0x1p-32, x, 0x1p-31);
      EXPECT_NEAR(static_cast<double>(cosine) * 0x1p-32, (1 - std::cos(std::acos(-1.0) * x)) / 2, 0x1p-30);
      EXPECT_GE(cosine, before);
      before = cosine;
    }
    EXPECT_EQ(RampPosition({draws, RampShape::kCosine}, draws), kWholeShare);
  }
}

// Over every ramp, also of tasks that come or go with it, and after it.
TEST(Ramps, DeliverTheIntegralOfWhatTheyAskWithinTwoBatches) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const RandomMix mix(seed);
    const auto largest = static_cast<double>(*std::max_element(mix.rows.begin(), mix.rows.end()));
    RowRandom random(seed);
    std::vector<double> to = mix.weights, asked(to.size()), delivered(to.size());
    for (double& weight : to) weight *= random.Below(4) == 0 ? 0 : random.Uniform(0.1, 10);
    to[0] += 1e-3;  // never all paused
    Mixer mixer(MixtureOf(mix.weights), SizesOf(mix.rows), seed);
    for (int i = 0; i < 50; ++i) DrawOne(mixer);
    const Ramp ramp{1 + random.Below(300), random.Coin() ? RampShape::kLinear : RampShape::kCosine};
    mixer.SetMixture(MixtureOf(to), ramp);
    for (std::int64_t i = 0; i < ramp.draws + 50; ++i) {
      const auto shares = mixer.Shares();
      const Draw draw = DrawOne(mixer);
      ASSERT_EQ(SumOfOwed(mixer), 0);
      for (std::size_t k = 0; k < to.size(); ++k) {
        asked[k] += shares.at(Name(k)).asked * static_cast<double>(draw.rows);
        if (draw.task == Name(k)) delivered[k] += static_cast<double>(draw.rows);
        ASSERT_LT(std::abs(asked[k] - delivered[k]), 2 * largest) << "seed " << seed << " draw " << i;
      }
    }
    EXPECT_EQ(mixer.RampLeft(), 0);
    double sum = 0;
    for (const double weight : to) sum += weight;
    for (std::size_t k = 0; k < to.size(); ++k)
      EXPECT_NEAR(mixer.Shares().at(Name(k)).asked, to[k] / sum, 1e-9) << "seed " << seed;
  }
}

TEST(Ramps, BeginFromTheSharesInForce) {
  Mixer mixer(MixtureOf({1, 0}), SizesOf({10, 10}), 0);
  mixer.SetMixture(MixtureOf({0, 1}), {10});
  for (int i = 0; i < 5; ++i) DrawOne(mixer);
  EXPECT_NEAR(mixer.Shares().at("task1").asked, 0.6, 1e-6);
  mixer.SetMixture(MixtureOf({1, 0}), {mixer.RampLeft()});
  EXPECT_EQ(mixer.RampLeft(), 5);
  EXPECT_NEAR(mixer.Shares().at("task1").asked, 0.6 - 0.6 / 5, 1e-6);
  for (int i = 0; i < 5; ++i) DrawOne(mixer);
  EXPECT_EQ(mixer.Shares().at("task1").asked, 0);
}

TEST(Ramps, AnUrnHasNone) {
  Mixer mixer(MixtureOf({1, 1}, ShareUnit::kRows, DrawOrder::kUrn), SizesOf({10, 10}), 0);
  EXPECT_THROW(mixer.SetMixture(MixtureOf({1, 3}, ShareUnit::kRows, DrawOrder::kUrn), {10}), InputError);
}

TEST(SetMixture, AccountsGoOn) {
  Mixer mixer(MixtureOf({1, 3}), SizesOf({10, 10}), 0);
  for (int i = 0; i < 8; ++i) DrawOne(mixer);
  mixer.SetMixture(MixtureOf({3, 1}));
  for (int i = 0; i < 8; ++i) DrawOne(mixer);
  for (const auto& [task, share] : mixer.Shares()) {
    EXPECT_EQ(share.charged, 80) << task;
    EXPECT_EQ(share.delivered, 0.5) << task;
    EXPECT_EQ(share.error, 0) << task;
  }
}

TEST(Drop, IsAPauseWithoutARamp) {
  Mixer dropping(MixtureOf({6, 2, 2}), SizesOf({75, 37, 15}), 0), pausing(dropping);
  for (int i = 0; i < 41; ++i) DrawOne(dropping), DrawOne(pausing);
  dropping.Drop("task1");
  pausing.SetMixture(MixtureOf({6, 0, 2}));
  for (int i = 0; i < 41; ++i) EXPECT_EQ(DrawOne(dropping).task, DrawOne(pausing).task);
  dropping.Drop("task0");
  EXPECT_THROW(dropping.Drop("task2"), InputError);
  EXPECT_EQ(DrawOne(dropping).task, "task2");
}

TEST(Drop, LetsARampGoOnWithoutTheTask) {
  Mixer mixer(MixtureOf({3, 1, 4, 0}), SizesOf({10, 10, 10, 10}), 0);
  mixer.SetMixture(MixtureOf({1, 3, 4, 2}), {10});
  for (int i = 0; i < 5; ++i) DrawOne(mixer);
  mixer.Drop("task2");
  EXPECT_EQ(mixer.RampLeft(), 5);
  EXPECT_EQ(mixer.Shares().at("task2").asked, 0);
  // From 3 : 1 : 0 to 1 : 3 : 2; at its sixth of ten draws.
  EXPECT_NEAR(mixer.Shares().at("task0").asked, 0.75 + 0.6 * (1. / 6 - 0.75), 1e-6);
  EXPECT_NEAR(mixer.Shares().at("task3").asked, 0.6 * 2 / 6, 1e-6);
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(SumOfOwed(mixer), 0);
    ASSERT_NE(DrawOne(mixer).task, "task2");
  }
  // Where all came from it, the others have their shares at once.
  Mixer from_one(MixtureOf({1, 0, 0}), SizesOf({10, 10, 10}), 0);
  from_one.SetMixture(MixtureOf({0, 1, 3}), {10});
  from_one.Drop("task0");
  EXPECT_NEAR(from_one.Shares().at("task2").asked, 0.75, 1e-9);
}

TEST(SetMixture, WhatAPausedTaskIsOwedIsSettledWithThoseThatAreFurthestAhead) {
  Mixer mixer(MixtureOf({1, 1, 1, 1, 1}), SizesOf({150, 37, 150, 12, 60}), 0);
  for (int i = 0; i < 41; ++i) DrawOne(mixer);
  for (std::size_t paused = 0; paused < 5; ++paused) {
    std::vector<double> before, weights(5, 1);
    for (std::size_t i = 0; i < 5; ++i) before.push_back(Owed(mixer, Name(i)));
    ASSERT_NE(before[paused], 0);
    weights[paused] = 0;
    Mixer other = mixer;
    other.SetMixture(MixtureOf(weights));
    EXPECT_EQ(Owed(other, Name(paused)), 0);
    EXPECT_EQ(SumOfOwed(other), 0);
    double rest = before[paused];
    const double way = rest > 0 ? 1 : -1;  // of those that are ahead, or behind
    std::vector<std::size_t> order = {0, 1, 2, 3, 4};
    std::erase(order, paused);
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return way * before[a] < way * before[b]; });
    for (const std::size_t task : order) {
      const double given = std::max(0.0, std::min(way * rest, -way * before[task]));
      EXPECT_NEAR(Owed(other, Name(task)), before[task] + way * given, 1e-6) << Name(task);
      rest -= way * given;
    }
    EXPECT_NEAR(rest, 0, 1e-6);
  }
}

TEST(SetMixture, RandomEditsKeepSomebodyEligibleAndTheErrorNearOneBatch) {
  double worst = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const RandomMix mix(seed);
    const auto largest = static_cast<double>(*std::max_element(mix.rows.begin(), mix.rows.end()));
    RowRandom random(seed);
    Mixer mixer(MixtureOf(mix.weights), SizesOf(mix.rows), seed);
    for (int i = 0; i < 400; ++i) {
      if (random.Below(10) == 0) {
        std::vector<double> weights = mix.weights;
        for (double& weight : weights) weight *= random.Below(4) == 0 ? 0 : random.Uniform(0.5, 2);
        weights[0] += 1e-3;  // never all paused
        mixer.SetMixture(MixtureOf(weights));
        ASSERT_EQ(SumOfOwed(mixer), 0);
      }
      ASSERT_NO_THROW(DrawOne(mixer)) << "seed " << seed << " draw " << i;
      if (i % 10 > 0) continue;
      const nlohmann::json state = mixer.Save();
      for (const auto& task : state["tasks"])
        worst = std::max(worst, task["owed"][0].get<double>() / largest);
    }
  }
  EXPECT_LT(worst, 2.5);  // an edit every ten draws
}

TEST(SetMixture, ATaskThatComesBackGoesOnWithItsNextRow) {
  Mixer mixer(MixtureOf({1, 1}), SizesOf({10, 10}), 0);
  for (int i = 0; i < 10; ++i) DrawOne(mixer);
  Mixture without;
  without.weights = {{"task0", 1.0}};
  mixer.SetMixture(without);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(DrawOne(mixer).task, "task0");
  mixer.SetMixture(MixtureOf({1, 1}));
  Draw draw;
  do draw = DrawOne(mixer);
  while (draw.task != "task1");
  EXPECT_EQ(draw.begin, 50);
}

TEST(SetMixture, RefusesAsTheConstructorDoesAndThenChangesNothing) {
  Mixer mixer(MixtureOf({1, 1}), SizesOf({10, 10}), 0);
  DrawOne(mixer);
  const std::string state = mixer.Save().dump();
  EXPECT_THROW(mixer.SetMixture(MixtureOf({0, 0})), InputError);
  EXPECT_THROW(mixer.SetMixture(MixtureOf({1, -1})), InputError);
  EXPECT_THROW(mixer.SetMixture(MixtureOf({1, 1, 1})), InputError);
  EXPECT_THROW(mixer.SetSize("task0", {.rows = 0}), InputError);
  EXPECT_EQ(mixer.Save().dump(), state);
  EXPECT_EQ(mixer.mixture().weights.size(), 2U);
}

TEST(SetMixture, InAnotherUnitNobodyIsOwedAnything) {
  Mixer mixer(MixtureOf({6, 2, 2}), SizesOf({75, 37, 15}), 0);
  for (int i = 0; i < 50; ++i) DrawOne(mixer);
  mixer.SetMixture(MixtureOf({6, 2, 2}, ShareUnit::kSteps));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(Owed(mixer, Name(i)), 0);
  for (int i = 0; i < 1000; ++i) DrawOne(mixer);
  EXPECT_LT(mixer.ShareError(), 0.002);
}

// All that an urn promises: in each filling a task waits for its cards until the others have all been drawn
// at most.
TEST(SetMixture, EveryFillingOfAnUrnHasItsCardsWhateverTheEdits) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    RowRandom random(CombineSeeds(seed, 9));
    const auto n = static_cast<std::size_t>(2 + random.Below(6));
    const auto urn = [&] {
      std::vector<double> weights(n);
      for (double& weight : weights) weight = static_cast<double>(random.Below(8));
      weights[static_cast<std::size_t>(random.Below(static_cast<std::int64_t>(n)))] = 3;
      return weights;
    };
    std::vector<double> weights = urn();
    Mixer mixer(MixtureOf(weights, ShareUnit::kSteps, DrawOrder::kUrn),
                SizesOf(std::vector<std::int64_t>(n, 1)), seed);
    for (int edit = 0; edit < 8; ++edit) {
      double cards = 0;
      for (const double weight : weights) cards += weight;
      std::vector<double> drawn(n);
      const std::int64_t draws = random.Below(static_cast<std::int64_t>(3 * cards));
      for (std::int64_t draw = 1; draw <= draws; ++draw) {
        drawn[std::stoul(DrawOne(mixer).task.substr(4))] += 1;
        for (std::size_t i = 0; i < n; ++i) {
          const double behind = static_cast<double>(draw) * weights[i] / cards - drawn[i];
          ASSERT_LE(std::abs(behind), weights[i] * (cards - weights[i]) / cards + 1e-9) << "seed " << seed;
          ASSERT_TRUE(draw % static_cast<std::int64_t>(cards) > 0 || std::abs(behind) < 1e-9)
              << "seed " << seed;
        }
      }
      weights = urn();
      mixer.SetMixture(MixtureOf(weights, ShareUnit::kSteps, DrawOrder::kUrn));
    }
  }
}

TEST(SetMixture, ANewUrnStartsWithAllItsCards) {
  const auto urn = [](std::vector<double> weights) {
    return MixtureOf(weights, ShareUnit::kSteps, DrawOrder::kUrn);
  };
  Mixer mixer(urn({2, 3}), SizesOf({1, 1}), 0);
  for (int i = 0; i < 3; ++i) DrawOne(mixer);
  mixer.SetMixture(urn({1, 4}));
  std::map<std::string, int> cards;
  for (int i = 0; i < 5; ++i) ++cards[DrawOne(mixer).task];
  EXPECT_EQ(cards["task0"], 1);
  mixer.SetMixture(MixtureOf({1, 1}));
  for (int i = 0; i < 100; ++i) DrawOne(mixer);
  EXPECT_EQ(mixer.ShareError(), 0);
}

TEST(SetSize, TakesEffectAtTheNextDraw) {
  Mixer mixer(MixtureOf({1}), SizesOf({16}), 0);
  EXPECT_EQ(DrawOne(mixer).rows, 16);
  mixer.SetSize("task0", {.rows = 5});
  const Draw draw = DrawOne(mixer);
  EXPECT_EQ(draw.begin, 16);
  EXPECT_EQ(draw.rows, 5);
}

}  // namespace
}  // namespace medley::testing
