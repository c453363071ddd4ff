#include <gtest/gtest.h>
#include <medley/cluster/wire.h>
#include <medley/train/phases/jump_trial.h>
#include <medley/train/phases/phase_state.h>

#include <cmath>
#include <limits>
#include <random>

namespace medley {
namespace {

using nlohmann::json;

PhasesConfig Small() { return {.warmup_steps = 3, .full_steps = 10, .correct_steps = 2, .allowance = 0.1}; }

std::string PhasesOf(PhaseClock& clock, int steps) {
  std::string phases;
  for (int step = 0; step < steps; ++step) {
    phases += EnumName(clock.now()).substr(0, 1);
    clock.Trained();
  }
  return phases;
}

TEST(PhaseClock, WarmsUpOnceAndCorrectsAfterEachJump) {
  PhaseClock clock(Small());
  EXPECT_EQ(PhasesOf(clock, 5), "wwwff");
  EXPECT_FALSE(clock.Predicts());
  PhasesOf(clock, 8);
  EXPECT_TRUE(clock.Predicts()) << "after ten of them";
  PhasesOf(clock, 1);
  EXPECT_FALSE(clock.Predicts()) << "it was not its turn";
  PhasesOf(clock, 9);
  EXPECT_TRUE(clock.Predicts()) << "and after ten more";
  clock.Jumped();
  EXPECT_EQ(PhasesOf(clock, 4), "ccff");
  clock.Settle();
  EXPECT_EQ(PhasesOf(clock, 9), "fffffffff");
  EXPECT_FALSE(clock.Predicts());
  PhaseClock warm(Small());
  PhasesOf(warm, 1);
  warm.Settle();
  EXPECT_EQ(PhasesOf(warm, 3), "wwf") << "a warm-up goes on";
  PhasesConfig none = Small();
  none.warmup_steps = 0;
  EXPECT_EQ(PhaseClock(none).now(), Phase::kFull);
}

TEST(PhaseClock, TakesFiveSnapshotsInEveryStretchAndRepeatsEverySixSteps) {
  PhaseClock clock(Small());
  std::string snapshots, repeats;
  for (int step = 0; step < 3 + 24; ++step) {
    clock.Trained();
    const auto snapshot = clock.Snapshot();
    snapshots += snapshot ? std::to_string(*snapshot) : ".";
    repeats += clock.FastForwards() ? "r" : ".";
  }
  EXPECT_EQ(snapshots,
            "..."
            "."
            "0.1.2.3.4"
            ".0.1.2.3.4"
            ".0.1");
  EXPECT_EQ(repeats,
            "..."
            "....."
            "r.....r.....r.....r");
}

TEST(PhaseClock, GoesOnWhereItWasSavedUnlessFullIsOfOtherLength) {
  PhaseClock clock(Small());
  PhasesOf(clock, 8);
  PhaseClock other(Small());
  other.Load(clock.Save());
  EXPECT_EQ(other.Save(), clock.Save());
  PhasesConfig longer = Small();
  longer.full_steps = 12;
  PhaseClock anew(longer);
  anew.Load(clock.Save());
  PhasesOf(anew, 11);
  EXPECT_FALSE(anew.Predicts());
  PhasesOf(anew, 1);
  EXPECT_TRUE(anew.Predicts());
  for (const json& bad : {json{{"now", "predict"}, {"done", 1}, {"full_steps", 10}},
                          json{{"now", "full"}, {"done", -1}, {"full_steps", 10}}, json{{"now", "full"}}})
    EXPECT_ANY_THROW(other.Load(bad)) << bad;
}

TEST(LossWatch, FindsWhatIsThreeDeviationsAboveATasksOwnMean) {
  std::mt19937 random(7);
  std::normal_distribution<double> high(50, 2), low(0.5, 0.01);
  LossWatch watch;
  for (int step = 0; step < 300; ++step) watch.Add({{"high", high(random)}, {"low", low(random)}});
  EXPECT_EQ(watch.Beyond({{"high", 54}, {"low", 0.51}}), "");
  EXPECT_EQ(watch.Beyond({{"high", 30}}), "") << "lower is never too far";
  EXPECT_NE(watch.Beyond({{"high", 60}}).find("the loss of high is 60"), std::string::npos);
  EXPECT_NE(watch.Beyond({{"high", 50}, {"low", 0.6}}).find("low"), std::string::npos) << "its own measure";
  EXPECT_NE(watch.Beyond({{"low", std::numeric_limits<double>::quiet_NaN()}}).find("not finite"),
            std::string::npos);
  EXPECT_EQ(watch.Beyond({{"new", 1e9}}), "") << "nothing is known of it";
  LossWatch few;
  for (int step = 0; step < LossWatch::kLeastDraws - 1; ++step) few.Add({{"a", 1}});
  EXPECT_EQ(few.Beyond({{"a", 9}}), "");
  few.Add({{"a", 1}});
  EXPECT_NE(few.Beyond({{"a", 9}}), "");
}

TEST(LossWatch, CountsTheFallByShares) {
  LossWatch watch;
  for (int step = 0; step < 50; ++step) watch.Add({{"a", 2}, {"b", 4}});
  EXPECT_EQ(watch.FallSinceMark({{"a", 0.5}, {"b", 0.5}}), 0) << "no mark";
  watch.Mark();
  for (int step = 0; step < 2000; ++step) watch.Add({{"a", 1}, {"b", 4}, {"new", 1}});
  EXPECT_NEAR(watch.FallSinceMark({{"a", 0.25}, {"b", 0.75}}), 0.25, 1e-6);
  EXPECT_NEAR(watch.FallSinceMark({{"a", 0.25}, {"b", 0.25}, {"new", 0.5}}), 0.5, 1e-6)
      << "of those that had a loss then";
  LossWatch other;
  other.Load(watch.Save());
  EXPECT_EQ(other.Save(), watch.Save());
}

TEST(ForwardAccount, PaysForPredictionsWithItsPartAndWithWhatTheyEarned) {
  ForwardAccount account(0.03);
  EXPECT_FALSE(account.Pays(1));
  account.Trained(1000);  // 3,000
  EXPECT_TRUE(account.Pays(92)) << "3 % of 3,092";
  EXPECT_FALSE(account.Pays(93));
  account.Spent(92);
  EXPECT_FALSE(account.Pays(1));
  account.Undone(10);
  EXPECT_EQ(account.spent(), 122);
  account.Earned(500);
  EXPECT_TRUE(account.Pays(470));
  EXPECT_FALSE(account.Pays(492));
  account.Mark();
  account.Trained(20);
  const double before = account.earned();
  account.Earned(std::numeric_limits<double>::infinity());
  EXPECT_EQ(account.earned() - before, 60) << "no more than was trained since";
  account.Earned(-5);
  EXPECT_EQ(account.earned() - before, 60);
  ForwardAccount other(0.03);
  other.Load(account.Save());
  EXPECT_EQ(other.Save(), account.Save());
}

TEST(JumpChoice, TriesAllInTurnAndWhatIsRefusedHalfAsOften) {
  const auto name = [](const Jump& jump) { return EnumName(jump.direction) + std::to_string(jump.size); };
  JumpChoice choice({Direction::kTrend, Direction::kLine}, 5);
  std::map<std::string, int> tried;
  for (int event = 0; event < 10; ++event) {
    ++tried[name(choice.Next())];
    choice.Refused();
  }
  EXPECT_EQ(tried.size(), 10u) << "each once";
  // From here on one is always taken, and all others are refused.
  const std::string good = name(choice.Next());
  tried.clear();
  for (int event = 0; event < 400; ++event) {
    const std::string now = name(choice.Next());
    ++tried[now];
    now == good ? choice.Taken() : choice.Refused();
  }
  EXPECT_GT(tried[good], 300);
  for (const auto& [other, times] : tried) {
    if (other != good) {
      EXPECT_GE(times, 4) << "it still has its turn: " << other;
    }
  }
  JumpChoice same({Direction::kTrend, Direction::kLine}, 5),
      another({Direction::kTrend, Direction::kLine}, 6);
  same.Load(choice.Save());
  bool differs = false;
  for (int event = 0; event < 20; ++event) {
    EXPECT_EQ(name(same.Next()), name(choice.Next()));
    differs = differs || name(another.Next()) != name(choice.Next());
    same.Refused(), choice.Refused(), another.Refused();
  }
  EXPECT_TRUE(differs) << "the order is the seed's";
  EXPECT_ANY_THROW(JumpChoice({Direction::kLastStep}, 5).Load(choice.Save()));
}

// Pieces of two tasks whose losses lie around a mean, and what a candidate gains on each.
std::map<std::string, TrialLosses> Trials(double gain_a, double gain_b, double noise, double of_gain = 0) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal(0, 1);
  std::map<std::string, TrialLosses> losses;
  for (const auto& [task, gain] : {std::pair("a", gain_a), std::pair("b", gain_b)}) {
    TrialLosses& found = losses[task];
    found.resize(2);
    for (int piece = 0; piece < JumpTrial::kPieces; ++piece) {
      const double loss = 2 + noise * normal(random);
      found[0].push_back(loss);
      found[1].push_back(loss - gain - of_gain * normal(random));
    }
  }
  return losses;
}

TEST(JudgeJump, TakesWhatGainsMoreThanItsErrorAndThanTrainingAndHarmsNobody) {
  const std::map<std::string, double> shares = {{"a", 0.75}, {"b", 0.25}};
  const auto judged = [&](double a, double b, double of_gain, double least = 0) {
    return JudgeJump(Trials(a, b, 1, of_gain), shares, least);
  };
  const JumpVerdict taken = judged(0.1, 0.3, 0.01);
  EXPECT_EQ(taken.refused, "");
  EXPECT_NEAR(taken.gain, 0.15, 0.02) << "by shares; the rows' own spread is no error, for they are the same";
  EXPECT_LT(taken.standard_error, 0.01);
  EXPECT_NEAR(taken.tasks.at("b").from - taken.tasks.at("b").to, 0.3, 0.02);
  EXPECT_NE(judged(0.1, 0.3, 0.01, 0.2).refused.find("training gains 0.2"), std::string::npos);
  EXPECT_NE(judged(0.1, 0.3, 1).refused.find("two standard errors"), std::string::npos);
  EXPECT_NE(judged(-0.1, -0.1, 0.01).refused, "");
  EXPECT_NE(judged(0, 0, 0).refused, "") << "nothing gained";
  EXPECT_EQ(judged(0.5, -0.2, 0.01).refused.find("b gets worse"), 0u);
  auto losses = Trials(0.1, 0.3, 1);
  losses["b"][1][3] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(JudgeJump(losses, shares, 0).refused.find("not finite"), std::string::npos);
}

TEST(PhaseState, IsSavedWholeAndRefusesWhatItCannotHaveSaved) {
  PhaseState state(Small(), 4);
  state.events = 3;
  state.tasks = {"a", "b"};
  state.rate = 0.5;
  state.rows_at_once = {{"a", 2}};
  state.clock.Trained();
  state.losses.Add({{"a", 1.5}});
  state.account.Trained(7);
  state.jumps.Refused();
  PhaseState other(Small(), 4);
  EXPECT_NE(other.Save(), state.Save());
  other.Load(state.Save());
  EXPECT_EQ(other.Save(), state.Save());
  for (const char* key :
       {"clock", "losses", "account", "jumps", "repeats", "events", "tasks", "rate", "rows_at_once"}) {
    json damaged = state.Save();
    damaged[key] = "damaged";
    EXPECT_ANY_THROW(PhaseState(Small(), 4).Load(damaged)) << key;
    damaged.erase(key);
    EXPECT_ANY_THROW(PhaseState(Small(), 4).Load(damaged)) << key;
  }
}

// One process looks, and the others take its word, also of what is no number.
TEST(JumpVerdict, AnotherProcessReadsTheSame) {
  const JumpVerdict said{.gain = 1.0 / 3,
                         .standard_error = std::nan(""),
                         .tasks = {{"a", {.from = 0.1, .to = std::nan("")}}},
                         .refused = "a loss is not finite"};
  using Words = std::tuple<std::optional<JumpVerdict>, std::optional<JumpVerdict>>;
  EXPECT_FALSE(std::get<1>(FromWire<Words>(ToWire(Words(said, {})))));
  const JumpVerdict read = *std::get<0>(FromWire<Words>(ToWire(Words(said, {}))));
  EXPECT_EQ(read.gain, said.gain);
  EXPECT_TRUE(std::isnan(read.standard_error));
  EXPECT_EQ(read.tasks.at("a").from, 0.1);
  EXPECT_TRUE(std::isnan(read.tasks.at("a").to));
  EXPECT_EQ(read.refused, said.refused);
}

}  // namespace
}  // namespace medley
