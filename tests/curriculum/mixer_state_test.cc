#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include <medley/base/error.h>
#include <medley/base/newer.h>
#include <medley/curriculum/mixer.h>
#include <medley/curriculum/shares.h>

#include "curriculum/mixer_fixtures.h"

#include "tests/words.h"

namespace medley::testing {
namespace {

using test::MessageOf;

std::string Words(const std::vector<Draw>& draws) {
  std::string text;
  for (const Draw& d : draws)
    text += d.task + "@" + std::to_string(d.begin) + "+" + std::to_string(d.rows) + " ";
  return text;
}

TEST(Mixer, PeekChangesNothingAndSeesWhatWillBeDrawn) {
  for (const DrawOrder order : {DrawOrder::kDeficit, DrawOrder::kUrn}) {
    Mixer mixer(MixtureOf({3, 1, 2, 6, 6}, ShareUnit::kRows, order), SizesOf({150, 37, 15, 16, 16}), 5);
    for (int i = 0; i < 50; ++i) {
      const std::string state = mixer.Save().dump();
      const std::vector<Draw> ahead = mixer.Peek(40);
      EXPECT_EQ(Words(ahead), Words(mixer.Peek(40)));
      EXPECT_EQ(Words({ahead[0]}), Words(mixer.Peek(1)));
      EXPECT_EQ(mixer.Save().dump(), state);
      // Committed one by one or several at once, they come as they were seen.
      mixer.Commit({ahead[0]});
      mixer.Commit({ahead[1], ahead[2]});
      EXPECT_EQ(Words({ahead.begin() + 3, ahead.end()}), Words(mixer.Peek(37)));
    }
  }
}

TEST(Mixer, RowsOfATaskFollowOnEachOther) {
  Mixer mixer(MixtureOf({3, 1, 2}), SizesOf({150, 37, 15}), 0);
  std::map<std::string, std::int64_t> next;
  for (int i = 0; i < 300; ++i) {
    const Draw draw = DrawOne(mixer);
    EXPECT_EQ(draw.begin, next[draw.task]);
    next[draw.task] += draw.rows;
  }
}

TEST(Mixer, AnotherDrawThanTheNextIsRefusedAndChargesNothing) {
  Mixer mixer(MixtureOf({1, 1}), SizesOf({8, 8}), 0);
  const std::string state = mixer.Save().dump();
  const std::vector<Draw> next = mixer.Peek(2);
  EXPECT_THROW(mixer.Commit({next[1]}), Error);
  EXPECT_THROW(mixer.Commit({next[0], next[0]}), Error);
  Draw shorter = next[0];
  shorter.rows = 4;
  EXPECT_THROW(mixer.Commit({shorter}), Error);
  EXPECT_EQ(mixer.Save().dump(), state);
}

TEST(Mixer, ADrawThatIsNotCommittedConsumesNothing) {
  Mixer failing(MixtureOf({5, 3, 1}), SizesOf({16, 48, 7}), 0);
  Mixer steady = failing;
  RowRandom random(3);
  std::vector<Draw> kept, expected;
  while (kept.size() < 200) {
    const std::vector<Draw> draw = failing.Peek(1);
    if (random.Coin()) continue;  // the step threw
    failing.Commit(draw);
    kept.push_back(draw.front());
  }
  for (int i = 0; i < 200; ++i) expected.push_back(DrawOne(steady));
  EXPECT_EQ(Words(kept), Words(expected));
}

TEST(Mixer, AResumeAtEveryDrawGoesOnIdentically) {
  for (const DrawOrder order : {DrawOrder::kDeficit, DrawOrder::kUrn}) {
    const Mixture mixture = MixtureOf({3, 1, 2, 6, 6}, ShareUnit::kRows, order);
    const Sizes sizes = SizesOf({150, 37, 15, 16, 16});
    Mixer mixer(mixture, sizes, 9);
    for (int i = 0; i < 200; ++i) {
      Mixer resumed(mixture, sizes, 9);
      resumed.Load(nlohmann::json::parse(mixer.Save().dump()));
      EXPECT_EQ(Words(resumed.Peek(60)), Words(mixer.Peek(60))) << "draw " << i;
      EXPECT_EQ(resumed.Save(), mixer.Save());
      DrawOne(mixer);
    }
  }
}

TEST(Mixer, AResumeBetweenAnEditAndItsFirstDrawGoesOnIdentically) {
  const Sizes sizes = SizesOf({150, 37, 15});
  const Mixture edited = MixtureOf({1, 1, 8});
  Mixer mixer(MixtureOf({6, 2, 2}), sizes, 0);
  for (int i = 0; i < 77; ++i) DrawOne(mixer);
  mixer.SetMixture(edited);
  Mixer resumed(edited, sizes, 0);
  resumed.Load(mixer.Save());
  EXPECT_EQ(Words(resumed.Peek(100)), Words(mixer.Peek(100)));
}

TEST(Mixer, AResumeAtEveryDrawOfARampGoesOnIdentically) {
  const Sizes sizes = SizesOf({150, 37, 15, 60});
  const Mixture after = MixtureOf({1, 0, 8, 3});
  Mixer mixer(MixtureOf({6, 2, 2, 0}), sizes, 0);
  for (int i = 0; i < 30; ++i) DrawOne(mixer);
  mixer.SetMixture(after, {40, RampShape::kCosine});
  for (int i = 0; i < 50; ++i) {
    Mixer resumed(after, sizes, 0);
    resumed.Load(nlohmann::json::parse(mixer.Save().dump()));
    EXPECT_EQ(Words(resumed.Peek(60)), Words(mixer.Peek(60))) << "draw " << i;
    EXPECT_EQ(resumed.Save(), mixer.Save());
    EXPECT_EQ(resumed.Shares().at("task1").error, mixer.Shares().at("task1").error);
    DrawOne(mixer);
  }
}

TEST(Mixer, WeightsThatWereEditedWhileTheRunRestedTakeEffectAsAnEdit) {
  const Sizes sizes = SizesOf({150, 37, 15});
  const Mixture edited = MixtureOf({1, 0, 8});
  Mixer running(MixtureOf({6, 2, 2}), sizes, 0);
  for (int i = 0; i < 77; ++i) DrawOne(running);
  Mixer resumed(edited, sizes, 0);
  resumed.Load(running.Save());
  running.SetMixture(edited);
  EXPECT_EQ(Words(resumed.Peek(100)), Words(running.Peek(100)));
  EXPECT_EQ(resumed.mixture().weights, edited.weights);
}

TEST(Mixer, TheStateHoldsIntegersOnly) {
  Mixer mixer(MixtureOf({3.3, 1.7, 2}), SizesOf({150, 37, 15}), 0);
  for (int i = 0; i < 10; ++i) DrawOne(mixer);
  const nlohmann::json state = mixer.Save().flatten();
  for (const auto& [path, value] : state.items()) {
    EXPECT_TRUE(value.is_number_integer() || value.is_string()) << path << " " << value;
  }
}

TEST(Mixer, AStateOfANewerMedleySaysSo) {
  Mixer mixer(MixtureOf({3, 1}), SizesOf({16, 8}), 0);
  nlohmann::json state = mixer.Save();
  state["version"] = 3;
  EXPECT_EQ(
      MessageOf<NewerError>([&] { mixer.Load(state); }),
      "the saved state of the mixer is of a newer medley (version 3, this one reads 2). Use that medley, "
      "or a checkpoint from before");
}

TEST(Mixer, AStateThatSaveCannotHaveWrittenIsRefused) {
  Mixer mixer(MixtureOf({3, 1}), SizesOf({16, 8}), 0);
  for (int i = 0; i < 10; ++i) DrawOne(mixer);
  const nlohmann::json good = mixer.Save();
  const auto refused = [&](const std::string& pointer, const nlohmann::json& value) {
    nlohmann::json bad = good;
    bad[nlohmann::json::json_pointer(pointer)] = value;
    Mixer other(MixtureOf({3, 1}), SizesOf({16, 8}), 0);
    const std::string before = other.Save().dump();
    EXPECT_THROW(other.Load(bad), Error) << pointer << " " << value;
    EXPECT_EQ(other.Save().dump(), before) << pointer;
  };
  nlohmann::json bad_sum = good;
  refused("/version", 3);
  refused("/version", 0);
  refused("/tasks/0/share", 17);
  refused("/tasks/0/owed", nlohmann::json::array({1, 0}));
  refused("/tasks/0/owed", nlohmann::json::array({0.5, 0}));
  refused("/tasks/0/rows", -1);
  refused("/tasks/0/name", 3);
  refused("/tasks", "none");
  refused("/urn_drawn", 1.5);
  refused("/unit", 9);
  for (const char* task : {"0", "1"})
    bad_sum[nlohmann::json::json_pointer(std::string("/tasks/") + task + "/charged")] = std::int64_t{1} << 62;
  refused("/tasks", bad_sum.at("tasks"));
  refused("", nlohmann::json::array());
}

// 10^8 draws of 150 rows, and far beyond: the counters of a run that has been going for years.
TEST(Mixer, CountersOfAVeryLongRunDoNotOverflow) {
  const std::vector<double> weights = {1000, 1, 7, 7, 300};
  const Sizes sizes = SizesOf({150, 37, 150, 12, 16});
  Mixer fresh(MixtureOf(weights), sizes, 0);
  for (int i = 0; i < 1000; ++i) DrawOne(fresh);
  nlohmann::json old = fresh.Save();
  constexpr std::int64_t kYears = std::int64_t{1} << 58;
  for (auto& task : old["tasks"]) {
    task["rows"] = task["rows"].get<std::int64_t>() + kYears;
    task["draws"] = task["draws"].get<std::int64_t>() + kYears;
    task["charged"] = task["charged"].get<std::int64_t>() + kYears;
    task["asked"][0] =
        task["asked"][0].get<std::int64_t>() + task["share"].get<std::int64_t>() * 5 * (kYears >> 32);
  }
  Mixer jumped(MixtureOf(weights), sizes, 0);
  jumped.Load(old);
  for (int i = 0; i < 5000; ++i) {
    const Draw a = DrawOne(fresh), b = DrawOne(jumped);
    ASSERT_EQ(a.task, b.task) << i;
    ASSERT_EQ(a.begin + kYears, b.begin) << i;
  }
  // Every task was charged about as much, so the shares delivered are a fifth each.
  EXPECT_NEAR(jumped.ShareError(), 1000.0 / 1315 - 0.2, 1e-9);
}

// Older medleys let an urn have any unit.
TEST(Mixer, SaysThatAnUrnsAccountsBeginAnewInAnotherUnit) {
  const Sizes sizes = SizesOf({10, 20});
  const auto urn = [&](ShareUnit unit) { return Mixer(MixtureOf({2, 1}, unit, DrawOrder::kUrn), sizes, 3); };
  Mixer old = urn(ShareUnit::kTokens);
  for (int i = 0; i < 4; ++i) DrawOne(old);
  Mixer same = urn(ShareUnit::kTokens), other = urn(ShareUnit::kSteps);
  EXPECT_EQ(same.Load(old.Save()), "");
  EXPECT_EQ(other.Load(old.Save()),
            "the shares delivered count from here on, in steps: until now this run's urn counted them in "
            "tokens; what is drawn does not change");
  for (int i = 0; i < 9; ++i) EXPECT_EQ(DrawOne(other).task, DrawOne(old).task) << i;
}

TEST(Mixer, TheLargestChargesStayInsideTheArithmetic) {
  // 2^20 rows of 2^20 tokens, at the extreme of what is accepted.
  Sizes sizes;
  for (std::size_t i = 0; i < 5; ++i) {
    sizes[Name(i)] = {.rows = i % 2 ? 1 : 1 << 20, .passes = 1, .tokens_per_row = i % 2 ? 1 : 1 << 20};
  }
  const std::vector<double> weights = {1e6, 1, 1, 1e6, 3};
  Mixer mixer(MixtureOf(weights, ShareUnit::kTokens), sizes, 0);
  Ledger ledger(weights);
  for (int i = 0; i < 20000; ++i) {
    const Draw draw = DrawOne(mixer);
    ledger.Add(draw.task, draw.rows * sizes[draw.task].tokens_per_row);
    for (std::size_t k = 0; k < 5; ++k) ASSERT_LT(ledger.Behind(k), 0x1p40 * 1.001);
  }
}

TEST(Mixer, WeightsThatCannotBeAreRefused) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  for (const std::vector<double>& weights : std::vector<std::vector<double>>{
           {}, {0, 0}, {1, -1}, {1, nan}, {infinity, 1}, {1e13, 1}, {1e12, 1e-3}}) {
    EXPECT_THROW(Mixer(MixtureOf(weights), SizesOf({1, 1}), 0), InputError) << weights.size();
  }
  EXPECT_THROW(Mixer(MixtureOf({1, 1}), SizesOf({1}), 0), InputError);  // no size
  EXPECT_THROW(Mixer(MixtureOf({1, 1}), SizesOf({1, 0}), 0), InputError);
  EXPECT_THROW(Mixer(MixtureOf({1, 1}), SizesOf({1, -5}), 0), InputError);
  EXPECT_THROW(Mixer(MixtureOf({1, 1.5}, ShareUnit::kRows, DrawOrder::kUrn), SizesOf({1, 1}), 0), InputError);
  EXPECT_THROW(Mixer(MixtureOf({1e9, 1}, ShareUnit::kRows, DrawOrder::kUrn), SizesOf({1, 1}), 0), InputError);
  Mixture twice = MixtureOf({1, 1});
  twice.weights[1].first = "task0";
  EXPECT_THROW(Mixer(twice, SizesOf({1, 1}), 0), InputError);
  EXPECT_NE(MessageOf([&] {
              Mixer(MixtureOf({1, nan, -2}), SizesOf({1, 1, 1}), 0);
            }).find("weights.task2"),
            std::string::npos);
  Sizes silent = SizesOf({1, 1});
  silent["task1"].tokens_per_row = 0;
  EXPECT_THROW(Mixer(MixtureOf({1, 1}, ShareUnit::kTokens), silent, 0), InputError);
  EXPECT_NO_THROW(Mixer(MixtureOf({1, 0}, ShareUnit::kTokens), silent, 0));
}

TEST(Mixer, APausedTaskNeedsNoSizeAndIsNeverDrawn) {
  Mixer mixer(MixtureOf({1, 0, 1}), {{"task0", {.rows = 4}}, {"task2", {.rows = 9}}}, 0);
  for (int i = 0; i < 200; ++i) EXPECT_NE(DrawOne(mixer).task, "task1");
}

TEST(Urn, DealsEveryCardOnceAFillingInAnotherOrderEachTime) {
  const std::vector<double> weights = {24, 8, 0, 8};
  Mixer mixer(MixtureOf(weights, ShareUnit::kSteps, DrawOrder::kUrn), SizesOf({75, 37, 15, 15}), 1);
  std::set<std::string> orders;
  for (int filling = 0; filling < 20; ++filling) {
    std::map<std::string, int> cards;
    std::string order;
    for (int card = 0; card < 40; ++card) {
      const std::string task = DrawOne(mixer).task;
      ++cards[task];
      order += task.back();
    }
    EXPECT_EQ(cards, (std::map<std::string, int>{{"task0", 24}, {"task1", 8}, {"task3", 8}}));
    orders.insert(order);
    EXPECT_LT(mixer.ShareError(), 1e-9) << "shares hold in steps after every filling";
  }
  EXPECT_EQ(orders.size(), 20U);
}

TEST(Urn, SaysHowFarRowsAreOff) {
  Mixer mixer(MixtureOf({24, 8, 8}, ShareUnit::kRows, DrawOrder::kUrn), SizesOf({75, 37, 15}), 1);
  for (int i = 0; i < 4000; ++i) DrawOne(mixer);
  // The published figures of such an urn: 81.2/13.3/5.4 %, off by 0.21.
  EXPECT_NEAR(mixer.Shares().at("task0").delivered, 0.812, 0.001);
  EXPECT_NEAR(mixer.ShareError(), 0.212, 0.001);
}

TEST(Urn, SameSeedSameOrder) {
  const Mixture mixture = MixtureOf({5, 5, 5}, ShareUnit::kSteps, DrawOrder::kUrn);
  const Sizes sizes = SizesOf({1, 1, 1});
  EXPECT_EQ(Words(Mixer(mixture, sizes, 3).Peek(90)), Words(Mixer(mixture, sizes, 3).Peek(90)));
  EXPECT_NE(Words(Mixer(mixture, sizes, 3).Peek(90)), Words(Mixer(mixture, sizes, 4).Peek(90)));
}

TEST(Urn, EveryPlaceOfTheOrderIsReachedByEveryCardAlike) {
  std::map<std::uint32_t, int> first;
  for (std::uint64_t seed = 0; seed < 6000; ++seed) ++first[ShuffledCards({1, 2, 3}, seed).front()];
  EXPECT_NEAR(first[0], 1000, 120);
  EXPECT_NEAR(first[1], 2000, 160);
  EXPECT_NEAR(first[2], 3000, 180);
}

}  // namespace
}  // namespace medley::testing
