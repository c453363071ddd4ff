#include <medley/config/mode.h>

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace medley {
namespace {

// TraitsOf finds a mode by its number.
TEST(Modes, StandInTheTableInTheOrderOfTheEnum) {
  for (std::size_t i = 0; i < kModes.size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(kModes[i].mode), i) << kModes[i].name;
    EXPECT_EQ(TraitsOf(kModes[i].mode).name, kModes[i].name);
  }
  EXPECT_EQ(kModes.back().mode, Mode::kTwoStage) << "the last of the enum: a new mode needs a row";
}

TEST(Modes, NamesParseBackAndNoOthersDo) {
  std::set<std::string_view> names;
  for (const ModeTraits& traits : kModes) {
    EXPECT_EQ(ParseMode(ModeName(traits.mode)), traits.mode);
    names.insert(traits.name);
  }
  EXPECT_EQ(names.size(), kModes.size());
  EXPECT_EQ(ModeNames(), (std::vector<std::string_view>{"joint", "sequential", "two_stage"}));
  for (const char* name : {"two-stage", "Joint", "joint ", "auto", ""})
    EXPECT_EQ(ParseMode(name), std::nullopt) << name;
}

// What planner, estimate and validation read.
TEST(Modes, AreWhatTheyAreKnownFor) {
  EXPECT_EQ(TraitsOf(Mode::kJoint).legal, LegalWhere::kAlways);
  EXPECT_EQ(TraitsOf(Mode::kSequential).legal, LegalWhere::kNothingIsCarried);
  EXPECT_EQ(TraitsOf(Mode::kTwoStage).legal, LegalWhere::kSomethingIsCarried);
  for (const ModeTraits& traits : kModes) {
    EXPECT_EQ(traits.keeps == KeepsGraphs::kOfAllPasses, traits.mode == Mode::kJoint) << traits.name;
    EXPECT_EQ(traits.repeats_makers, traits.mode == Mode::kTwoStage) << traits.name;
  }
}

TEST(Ways, HaveWordsForTables) {
  EXPECT_EQ(Way{}.Words(), "sequential");
  EXPECT_EQ((Way{Mode::kJoint, 2}.Words()), "joint + recompute 2");
  EXPECT_EQ((Way{Mode::kTwoStage, 1}.Words()), "two_stage + recompute 1");
  EXPECT_EQ((Way{Mode::kJoint, {24, 28}}.Words()), "joint + recompute 24/28");
  EXPECT_EQ((Way{Mode::kJoint, {14, 28}}.Words()), "joint + recompute 2");
}

TEST(Ways, AreOrderedByModeAndThenByWhatIsRecomputed) {
  EXPECT_EQ((Way{Mode::kJoint, 1}), (Way{Mode::kJoint, 1}));
  EXPECT_LT((Way{Mode::kJoint, 2}), (Way{Mode::kJoint, 1}));
  EXPECT_LT((Way{Mode::kJoint, 1}), (Way{Mode::kSequential, 0}));
}

TEST(RecomputedLayers, OfANumberAreEveryKthFromTheFirst) {
  for (int k = 1; k <= 9; ++k) {
    const RecomputedLayers layers = k;
    for (int i = 0; i < 40; ++i) EXPECT_EQ(layers.Has(i), i % k == 0) << k << ", " << i;
    EXPECT_EQ(layers.every(), k);
  }
  for (int i = 0; i < 40; ++i) EXPECT_FALSE(RecomputedLayers(0).Has(i));
  EXPECT_FALSE(RecomputedLayers(-1).valid());
}

TEST(RecomputedLayers, AreTheSameShareOfEveryStackEvenlySpread) {
  for (int n = 1; n <= 30; ++n) {
    for (int m = 1; m <= n; ++m) {
      for (const int depth : {n, 2 * n, 7, 12}) {
        std::vector<int> found;
        for (int i = 0; i < depth; ++i) {
          if (RecomputedLayers(m, n).Has(i)) found.push_back(i);
        }
        EXPECT_EQ(found.size(), static_cast<std::size_t>((depth - 1) * m / n + 1)) << m << "/" << n;
        EXPECT_EQ(found.front(), 0);
        for (std::size_t i = 1; i < found.size(); ++i) {
          EXPECT_GE(found[i] - found[i - 1], n / m);
          EXPECT_LE(found[i] - found[i - 1], (n + m - 1) / m);
        }
      }
    }
  }
}

TEST(RecomputedLayers, AreReadFromAFraction) {
  EXPECT_EQ(ParseRecomputedLayers("24/28"), RecomputedLayers(6, 7));
  EXPECT_EQ(ParseRecomputedLayers("24/28")->Fraction(), "24/28");
  EXPECT_EQ(ParseRecomputedLayers("0/1"), RecomputedLayers(0));
  EXPECT_EQ(ParseRecomputedLayers("1024/1024"), RecomputedLayers(1));
  for (const char* bad : {"", "/", "24", "24/", "/28", "29/28", "1/0", "0/0", "-1/4", "+1/4", "1/2/3", " 1/2",
                          "1/2 ", "1/1025", "1/99999999999", "0.5/1", "all"})
    EXPECT_EQ(ParseRecomputedLayers(bad), std::nullopt) << bad;
}

}  // namespace
}  // namespace medley
