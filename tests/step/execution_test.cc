#include <medley/step/execution.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace medley {
namespace {

using Modes = std::vector<Mode>;
using Weights = std::map<std::string, double, std::less<>>;

// Two terms, a figure to log among them.
VariantInfo Additive(int passes = 3) {
  VariantInfo variant{.name = "plain",
                      .passes = {},
                      .terms = {{.name = "answer", .weight = 2}, {.name = "figure", .weight = 0}}};
  for (int p = 0; p < passes; ++p)
    variant.passes.push_back({.name = "q" + std::to_string(p), .images = {"picture"}, .carries = {}});
  return variant;
}

// Of three passes the first two make a carry.
VariantInfo Carrying() {
  VariantInfo variant = Additive();
  variant.name = "carry";
  variant.passes[0].carries = {"c1"};
  variant.passes[1].carries = {"c2"};
  return variant;
}

TEST(Execution, LegalModesFollowFromWhatIsCarried) {
  EXPECT_EQ(LegalModes(Additive()), (Modes{Mode::kJoint, Mode::kSequential}));
  EXPECT_EQ(LegalModes(Additive(1)), (Modes{Mode::kJoint, Mode::kSequential}));
  EXPECT_EQ(LegalModes(Carrying()), (Modes{Mode::kJoint, Mode::kTwoStage}));
}

TEST(Execution, TheDefaultRepeatsNothingAndTheSmallestKeepsTheLeast) {
  EXPECT_EQ(DefaultMode(Additive()), Mode::kSequential);
  EXPECT_EQ(SmallestMode(Additive()), Mode::kSequential);
  EXPECT_EQ(DefaultMode(Carrying()), Mode::kJoint);
  EXPECT_EQ(SmallestMode(Carrying()), Mode::kTwoStage);
}

TEST(Execution, WhyAModeIsIllegalNamesWhatIsCarriedOrThatNothingIs) {
  for (const VariantInfo& variant : {Additive(), Carrying()}) {
    for (const ModeTraits& traits : kModes) {
      const Modes legal = LegalModes(variant);
      const bool is_legal = std::find(legal.begin(), legal.end(), traits.mode) != legal.end();
      EXPECT_EQ(WhyIllegal(traits.mode, variant).empty(), is_legal) << variant.name << ", " << traits.name;
    }
  }
  EXPECT_EQ(
      WhyIllegal(Mode::kSequential, Carrying()),
      "pass 'q0' of the variant 'carry' makes the carry 'c1', through which a later pass sends gradient "
      "back");
  EXPECT_EQ(WhyIllegal(Mode::kTwoStage, Additive()),
            "no pass of the variant 'plain' makes a carry, so there is nothing that a first stage could "
            "compute");
}

TEST(Execution, OfAConfigIsWhatItPinsAndElseTheDefault) {
  TaskConfig config;
  config.mode = "";
  config.recompute_every = -1;
  config.micro_rows = 0;
  for (const VariantInfo& variant : {Additive(), Carrying()}) {
    const Execution open = ExecutionOf(config, variant);
    EXPECT_EQ(open.way, (Way{DefaultMode(variant), 0})) << variant.name;
    EXPECT_EQ(open.micro_rows, 0);
    EXPECT_TRUE(open.term_weights.empty());
  }
  config.mode = "two_stage";
  config.recompute_every = 2;
  config.micro_rows = 5;
  config.terms = {{"answer", 0.5}};
  const Execution pinned = ExecutionOf(config, Carrying());
  EXPECT_EQ(pinned.way, (Way{Mode::kTwoStage, 2}));
  EXPECT_EQ(pinned.micro_rows, 5);
  EXPECT_EQ(TermWeight(pinned, Carrying().terms[0]), 0.5);
  EXPECT_EQ(TermWeight(pinned, Carrying().terms[1]), 0) << "the spec's";
  EXPECT_EQ(TermWeight({}, Carrying().terms[0]), 2);
}

TEST(CheckExecution, WhatAVariantCanHaveIsNoProblem) {
  for (const VariantInfo& variant : {Additive(), Carrying()}) {
    EXPECT_TRUE(CheckExecution(variant, std::nullopt, {}).empty());
    for (const Mode mode : LegalModes(variant)) EXPECT_TRUE(CheckExecution(variant, mode, {}).empty());
    EXPECT_TRUE(CheckExecution(variant, std::nullopt, {{"answer", 0}, {"figure", 1}}).empty());
  }
  VariantInfo figures = Additive();
  figures.terms[0].weight = 0;
  EXPECT_TRUE(CheckExecution(figures, std::nullopt, {}).empty())
      << "nothing was set: it is the spec's affair";
}

TEST(CheckExecution, AModeThatCannotBeSaysWhyAndWhatCan) {
  const auto problems = CheckExecution(Carrying(), Mode::kSequential, {});
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].path, (std::vector<std::string>{"mode"}));
  EXPECT_FALSE(problems[0].is_unknown_name);
  EXPECT_EQ(problems[0].message, "\"sequential\" cannot be: " + WhyIllegal(Mode::kSequential, Carrying()) +
                                     "; expected \"joint\" or \"two_stage\"");
}

TEST(CheckExecution, AnUnknownTermIsAnUnknownNameWithThoseThatThereAre) {
  const auto problems = CheckExecution(Additive(), std::nullopt, {{"anwser", 1}, {"answer", 0}});
  ASSERT_EQ(problems.size(), 1U) << "that nothing is left to learn may be the slip's fault";
  EXPECT_EQ(problems[0].path, (std::vector<std::string>{"terms", "anwser"}));
  EXPECT_TRUE(problems[0].is_unknown_name);
  EXPECT_NE(problems[0].message.find("did you mean 'answer'?"), std::string::npos) << problems[0].message;
}

// A config that asks for it is refused; figures alone may all the same be run.
TEST(CheckExecution, WeightsThatLeaveNothingToLearnCanBeExecuted) {
  EXPECT_TRUE(CheckExecution(Additive(), std::nullopt, {{"answer", 0}}).empty());
}

TEST(CheckExecution, AllProblemsAreSaidAtOnce) {
  const Weights terms{{"first", 1}, {"second", 1}};
  const auto problems = CheckExecution(Additive(), Mode::kTwoStage, terms);
  ASSERT_EQ(problems.size(), 3U);
  EXPECT_EQ(problems[0].path.back(), "first");
  EXPECT_EQ(problems[1].path.back(), "second");
  EXPECT_EQ(problems[2].path.back(), "mode");
}

}  // namespace
}  // namespace medley
