#include <medley/config/mode.h>

#include <gtest/gtest.h>

#include <set>

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
}

TEST(Ways, AreOrderedByModeAndThenByWhatIsRecomputed) {
  EXPECT_EQ((Way{Mode::kJoint, 1}), (Way{Mode::kJoint, 1}));
  EXPECT_LT((Way{Mode::kJoint, 1}), (Way{Mode::kJoint, 2}));
  EXPECT_LT((Way{Mode::kJoint, 2}), (Way{Mode::kSequential, 0}));
}

}  // namespace
}  // namespace medley
