#include <gtest/gtest.h>

#include <medley/base/files.h>
#include <medley/curriculum/condition.h>
#include <medley/curriculum/curriculum.h>
#include <medley/curriculum/curriculum_changes.h>
#include <medley/curriculum/stage_check.h>

#include "config/config_testing.h"

namespace medley::testing {
namespace {

std::string WeightMistakes(const Workspace& work, const std::string& text) {
  work.Write("weights.json", text);
  return MistakesOf([&] { ReadCurriculum(work / "weights.json"); });
}

TEST(WeightsFile, KeepsTheOrderOfTheFileAndReadsBackTheSame) {
  const Workspace work;
  work.Write("weights.json", R"({"$schema": "s", "unit": "steps", "order": "urn",
                                 "weights": {"zoom": 3, "arrow": 0, "control": 2}})");
  const Curriculum curriculum = ReadCurriculum(work / "weights.json");
  EXPECT_EQ(curriculum.unit, ShareUnit::kSteps);
  EXPECT_EQ(curriculum.order, DrawOrder::kUrn);
  ASSERT_EQ(curriculum.stages.size(), 1u);
  EXPECT_EQ(curriculum.stages[0].weights, (Weights{{"zoom", 3}, {"arrow", 0}, {"control", 2}}));
  EXPECT_EQ(curriculum.Named(), (std::vector<std::string>{"zoom", "control"}));
  EXPECT_EQ(curriculum.All(), (std::vector<std::string>{"zoom", "arrow", "control"}));
  work.Write("again.json", ToJson(curriculum).dump());
  EXPECT_EQ(ToJson(ReadCurriculum(work / "again.json")).dump(), ToJson(curriculum).dump());
}

TEST(WeightsFile, RowsInDeficitOrderAreTheDefault) {
  const Workspace work;
  EXPECT_EQ(ReadCurriculum(work / "weights.json").unit, ShareUnit::kRows);
  EXPECT_EQ(ReadCurriculum(work / "weights.json").order, DrawOrder::kDeficit);
}

// An urn draws steps, whatever anybody asks for; a unit that it would pay no heed to is none.
TEST(WeightsFile, AnUrnHasNoOtherUnitThanSteps) {
  const Workspace work;
  for (const std::string unit : {"rows", "tokens", "passes"}) {
    EXPECT_EQ(
        WeightMistakes(work, "{\"order\": \"urn\",\n \"unit\": \"" + unit + "\", \"weights\": {\"a\": 2}}"),
        (work / "weights.json").string() +
            ":2:10: unit: the order \"urn\" draws steps, whatever they hold: expected \"steps\", found \"" +
            unit + "\"; leave it out, or take the order \"deficit\"");
    EXPECT_EQ(WeightMistakes(work, "{\"unit\": \"" + unit + "\", \"weights\": {\"a\": 2}}"), "");
  }
  EXPECT_EQ(WeightMistakes(work, "{\"order\": \"urn\", \"unit\": \"steps\", \"weights\": {\"a\": 2}}"), "");
  for (const std::string stages :
       {R"("weights": {"a": 2})", R"("stages": [{"name": "x", "weights": {"a": 1}}])"}) {
    work.Write("weights.json", "{\"order\": \"urn\", " + stages + "}");
    EXPECT_EQ(ReadCurriculum(work / "weights.json").unit, ShareUnit::kSteps);
  }
  const std::string twice = WeightMistakes(work, R"({"order": "urn", "unit": "row", "weights": {"a": 2}})");
  EXPECT_EQ(twice.find("draws steps"), std::string::npos) << twice;
}

// What an older medley let a run begin with does not stop it.
TEST(WeightsFile, OfARunThatGoesOnAnUrnKeepsTheUnitThatItHad) {
  const std::string text = R"({"unit": "rows", "order": "urn", "weights": {"a": 2, "b": 1}})";
  EXPECT_EQ(ParseCurriculum("weights.jsonl", text).unit, ShareUnit::kRows);
  EXPECT_EQ(ParseCurriculum("weights.jsonl", R"({"order": "urn", "weights": {"a": 2}})").unit,
            ShareUnit::kSteps);
}

TEST(WeightsFile, ImpossibleWeightsAreRefusedWhereTheyStand) {
  const Workspace work;
  EXPECT_TRUE(Has(WeightMistakes(work, "{\n \"weights\": {\"a\": 0,\n \"b\": 0}}"),
                  "weights.json:2:13: weights: every weight is 0"));
  EXPECT_TRUE(Has(WeightMistakes(work, "{\"weights\": {}}"), ":1:13: weights: expected at least one task"));
  EXPECT_TRUE(Has(WeightMistakes(work, "{\"weights\": {\"a\": -1}}"),
                  ":1:19: weights.a: expected a number of at least 0 and at most 1000000000000, found -1"));
  EXPECT_TRUE(Has(WeightMistakes(work, "{\"weights\": {\"a\": 1e300}}"), ":1:19: weights.a: expected"));
  EXPECT_TRUE(Has(WeightMistakes(work, "{\"weights\": {\"a\": NaN}}"), ":1:19: not valid JSON"));
  EXPECT_TRUE(
      Has(WeightMistakes(work, "{\"weights\": {\"a\": \"1\"}}"), ":1:19: weights.a: expected a number"));
  EXPECT_TRUE(Has(WeightMistakes(work, "{\"weights\": {\"a\": 1e12, \"b\": 1e-3}}"),
                  ":1:30: weights.b: less than one part"));
  EXPECT_TRUE(Has(WeightMistakes(work, "{\"weights\": {\"a\": 1, \"a\": 2}}"), "stands twice"));
  EXPECT_TRUE(Has(WeightMistakes(work, "{\"order\": \"urn\", \"weights\": {\"a\": 1.5}}"),
                  ":1:35: weights.a: expected a whole number of cards"));
  EXPECT_TRUE(Has(WeightMistakes(work, "{\"order\": \"urn\", \"weights\": {\"a\": 1e7}}"),
                  "more than 1000000 cards"));
  EXPECT_TRUE(
      Has(WeightMistakes(work, "{\"unit\": \"row\", \"weights\": {\"a\": 1}}"),
          "expected \"rows\", \"steps\", \"tokens\" or \"passes\", found \"row\"; did you mean 'rows'?"));
  EXPECT_TRUE(
      Has(WeightMistakes(work, "{\"weight\": {\"a\": 1}}"), "weight: unknown key; did you mean 'weights'?"));
  EXPECT_TRUE(Has(WeightMistakes(work, "{\"weights\": {\"a\": -1, \"b\": null, \"c\": []}}"), "3 mistakes"));
}

constexpr const char* kStages = R"({"comment": "why", "unit": "steps", "stages": [
  {"name": "pictures", "weights": {"comment": "both", "control": 1, "zoom": 2}, "until": {"steps": 15000},
   "cooldown": 1500, "keep": true},
  {"name": "direction", "weights": {"ask": 1, "zoom": 0}, "cooldown": 300, "cooldown_to": 0, "moments": "reset",
   "until": {"any": [{"score": "ask", "at_least": 0.8, "evaluations": 2, "comment": "twice"}, {"steps": 3000}]}},
  {"name": "turn", "weights": {"turn": 1, "ask": 1}, "ramp": {"draws": 200, "shape": "cosine"}, "warmup": 20,
   "until": {"all": [{"rows": 100, "of": "turn"}, {"rows": 9}, {"loss": "ask", "below": 0.1},
                     {"score": "zoom", "at_most": 1}]}, "eval_every": 50,
   "set": {"comment": "the easiest form", "tasks.turn.rows": 64, "tasks.turn.terms.to_line": 0, "tasks.ask.mode": "joint",
           "tasks.ask.options.repeats": 1, "tasks.ask.rows": "auto"}}]})";

TEST(WeightsFile, HasStages) {
  const Workspace work;
  const Curriculum curriculum = ReadCurriculum(work.Write("weights.json", kStages));
  ASSERT_EQ(curriculum.stages.size(), 3u);
  const Stage& pictures = curriculum.stages[0];
  EXPECT_EQ(pictures.name, "pictures");
  EXPECT_EQ(pictures.weights, (Weights{{"control", 1}, {"zoom", 2}}));
  EXPECT_EQ(std::get<until::Steps>(pictures.until->kind).steps, 15000);
  EXPECT_EQ(pictures.cooldown_steps, 1500);
  EXPECT_EQ(pictures.cooldown_to, 0.1);
  EXPECT_TRUE(pictures.keep);
  EXPECT_EQ(pictures.ramp.draws, 0);
  const Stage& direction = curriculum.stages[1];
  EXPECT_EQ(direction.moments, Moments::kReset);
  EXPECT_EQ(direction.cooldown_to, 0);
  const auto& either = std::get<until::Any>(direction.until->kind).parts;
  ASSERT_EQ(either.size(), 2u);
  const auto& score = std::get<until::Score>(either[0].kind);
  EXPECT_EQ(score.at_least, 0.8);
  EXPECT_FALSE(score.at_most.has_value());
  EXPECT_EQ(score.evaluations, 2);
  const Stage& turn = curriculum.stages[2];
  EXPECT_EQ(turn.ramp.draws, 200);
  EXPECT_EQ(turn.ramp.shape, RampShape::kCosine);
  EXPECT_EQ(turn.warmup_steps, 20);
  EXPECT_EQ(turn.set.tasks.at("turn").rows, 64);
  EXPECT_FALSE(turn.set.tasks.at("turn").mode.has_value());
  EXPECT_EQ(turn.set.tasks.at("turn").terms.at("to_line"), 0);
  EXPECT_EQ(turn.set.tasks.at("ask").mode, "joint");
  EXPECT_EQ(turn.set.tasks.at("ask").rows, 0) << "auto";
  EXPECT_EQ(turn.set.tasks.at("ask").options.at("repeats"), OptionValue(1.0));
  EXPECT_EQ(ToJson(turn).at("set").dump(),
            R"({"tasks.ask.rows":"auto","tasks.ask.mode":"joint","tasks.ask.options.repeats":1.0,)"
            R"("tasks.turn.rows":64,"tasks.turn.terms.to_line":0.0})");
  EXPECT_EQ(turn.Scored(), std::vector<std::string>{"zoom"});
  EXPECT_EQ(InWords(*turn.until),
            "100 rows of turn and 9 rows and ask's loss below 0.1 and zoom at most 1.0");
  EXPECT_EQ(curriculum.Named(), (std::vector<std::string>{"control", "zoom", "ask", "turn"}));
  EXPECT_EQ(ToJson(ReadCurriculum(work.Write("again.json", ToJson(curriculum).dump()))).dump(),
            ToJson(curriculum).dump());
}

TEST(WeightsFile, EveryOneInTheGuideIsGood) {
  const Workspace work;
  const std::string guide = ReadFile(std::filesystem::path(MEDLEY_SOURCE_DIR) / "docs/curriculum.md");
  int found = 0;
  for (std::size_t begin = 0; (begin = guide.find("```json\n", begin)) != std::string::npos; ++found) {
    begin += 8;
    const std::string text = guide.substr(begin, guide.find("```", begin) - begin);
    EXPECT_EQ(WeightMistakes(work, text), "") << text;
  }
  EXPECT_GE(found, 4);
}

// A file of two stages, with more keys in the first and in the second.
std::string Two(const std::string& first, const std::string& second = "") {
  return "{\"stages\": [{\"name\": \"a\", \"weights\": {\"x\": 1, \"y\": 0}" + first +
         "},\n {\"name\": \"b\", \"weights\": {\"y\": 1}" + second + "}]}";
}

// It is for an edit of a run that goes on.
TEST(WeightsFile, ARampOfTheFirstStageIsReadAndNoRunBeginsWithIt) {
  const Workspace work;
  const auto beginning = [&](const std::string& text) {
    const auto path = work.Write("weights.json", text);
    return MistakesOf([&] {
      const Curriculum curriculum = ReadCurriculum(path);
      EXPECT_EQ(ToJson(ReadCurriculum(work.Write("again.json", ToJson(curriculum).dump()))).dump(),
                ToJson(curriculum).dump());
      Diagnostics diagnostics;
      ConfigFile file(path, diagnostics);
      CheckBeginning(file, curriculum);
      diagnostics.Throw();
    });
  };
  const std::string until = ", \"until\": {\"steps\": 5}",
                    ramp = ", \"ramp\": {\"draws\": 5, \"shape\": \"cosine\"}";
  EXPECT_TRUE(Has(beginning(Two(until + ramp)),
                  "weights.json:1:87: stages.0.ramp: the first stage has none: there are"))
      << beginning(Two(until + ramp));
  EXPECT_TRUE(Has(beginning("{\"weights\": {\"x\": 1}" + ramp + "}"),
                  "weights.json:1:31: ramp: the first stage has none"));
  EXPECT_EQ(beginning(Two(until, ramp)), "");
  EXPECT_EQ(
      ReadCurriculum(work.Write("one.json", "{\"weights\": {\"x\": 1}" + ramp + "}")).stages[0].ramp.draws,
      5);
  EXPECT_TRUE(Has(WeightMistakes(work, "{\"order\": \"urn\", \"weights\": {\"x\": 1}" + ramp + "}"),
                  "ramp: a ramp needs the order \"deficit\""));
}

TEST(WeightsFile, ImpossibleStagesAreRefusedWhereTheyStand) {
  const Workspace work;
  const std::string until = ", \"until\": {\"steps\": 5}";
  const auto says = [&](const std::string& text, const std::string& part) {
    const std::string mistakes = WeightMistakes(work, text);
    EXPECT_TRUE(Has(mistakes, part)) << text << "\n" << mistakes;
  };
  EXPECT_EQ(WeightMistakes(work, Two(until)), "");
  says(Two(""), ":1:13: stages.0.until: missing, and so the stages behind it would never begin");
  says(
      "{\"stages\": [{\"name\": \"a\", \"weights\": {\"x\": 1}, \"until\": {\"steps\": 5}},\n"
      "{\"name\": \"a\", \"weights\": {\"x\": 1}}]}",
      ":2:10: stages.1.name: stage 1 is called \"a\" too");
  says(Two(until, ", \"until\": {\"loss\": \"x\", \"below\": 1}"),
       "stages.1.until.loss: the stage does not draw this task");
  says(Two(until, ", \"until\": {\"rows\": 4, \"of\": \"x\"}"),
       "stages.1.until.of: the stage does not draw this task");
  says(Two(", \"until\": {\"score\": \"z\", \"at_least\": 1}"),
       "stages.0.until.score: no stage draws this task");
  EXPECT_EQ(WeightMistakes(work, Two(", \"until\": {\"score\": \"y\", \"at_least\": 1}")), "");
  says(Two(", \"until\": {\"score\": \"y\"}"),
       ":1:65: stages.0.until: expected one of the keys \"at_least\" or \"at_most\", found none of them");
  says(Two(", \"until\": {\"score\": \"y\", \"at_least\": 1, \"at_most\": 2}"),
       "stages.0.until: expected one of the keys \"at_least\" or \"at_most\", found 2 of them");
  says(Two(", \"until\": {\"score\": \"y\", \"at_lest\": 1}"),
       "stages.0.until.at_lest: unknown key; did you mean 'at_least'?");
  says(Two(", \"until\": {}"),
       "expected one of the keys \"steps\", \"rows\", \"loss\", \"score\", \"all\" or \"any\"");
  says(Two(", \"until\": {\"steps\": 1, \"rows\": 2}"), "found 2 of them");
  says(Two(", \"until\": {\"step\": 1}"), "stages.0.until.step: unknown key; did you mean 'steps'?");
  says(Two(", \"until\": {\"any\": []}"), "stages.0.until.any: expected at least one element");
  says(Two(", \"until\": {\"steps\": 0}"), "stages.0.until.steps: expected an integer of at least 1");
  says("{\"order\": \"urn\", " + Two(until, ", \"ramp\": {\"draws\": 5}").substr(1),
       "stages.1.ramp: a ramp needs the order \"deficit\"");
  says(Two(until, ", \"cooldown\": 5"),
       "stages.1.cooldown: begins once \"until\" holds, and the stage has none");
  says(Two(until + ", \"cooldown_to\": 0.2"),
       "stages.0.cooldown_to: says where a cooldown leads, and the stage has none");
  EXPECT_EQ(WeightMistakes(work, Two(until + ", \"cooldown\": 3, \"cooldown_to\": 0.2")), "");
  says(Two(until + ", \"eval_every\": 7"), "stages.0.eval_every: is of the evaluations that");
  EXPECT_EQ(WeightMistakes(work, Two(", \"until\": {\"score\": \"y\", \"at_least\": 1}, \"eval_every\": 7")),
            "");
  says(Two(until + ", \"moments\": \"reset\""), "stages.0.moments: a run begins without any");
  EXPECT_EQ(WeightMistakes(work, Two(until, ", \"moments\": \"reset\"")), "");
  EXPECT_EQ(ParseCurriculum("log", Two(until + ", \"eval_every\": 7")).stages.size(), 2U)
      << "what a run began with";
  says(Two(until, ", \"comment\": 5"), "stages.1.comment: expected a text, found 5");
  const auto set = [&](const std::string& entry) { return Two(until, ", \"set\": {" + entry + "}"); };
  EXPECT_EQ(WeightMistakes(work, set("\"tasks.x.rows\": 4, \"tasks.y.options.o\": 0.5")), "");
  says(set("\"tasks.z.rows\": 4"), ":2:61: stages.1.set.tasks.z.rows: no stage draws this task");
  says(set("\"steps\": 4"), "stages.1.set.steps: expected a key such as \"tasks.NAME.rows\"");
  says(set("\"tasks.y\": {\"rows\": 4}"), "stages.1.set.tasks.y: expected a key such as");
  says(set("\"tasks.y.row\": 4"), "stages.1.set.tasks.y.row: unknown key; did you mean 'rows'?");
  says(set("\"tasks.y.variant\": \"v\""), "stages.1.set.tasks.y.variant: unknown key");
  says(set("\"tasks.y.rows\": 0"), "stages.1.set.tasks.y.rows: expected an integer of at least 1");
  says(set("\"tasks.y.options\": {\"o\": 1}"), "stages.1.set.tasks.y.options: expected a single value");
  says(set("\"tasks.y.mode\": \"jont\""), "did you mean 'joint'?");
  says("{\"stages\": []}", "stages: expected at least one element");
  says("{\"stages\": [{\"name\": \"a\", \"weights\": {\"x\": 0}}]}", "stages.0.weights: every weight is 0");
  says("{\"stages\": [{\"name\": \"a b\", \"weights\": {\"x\": 1}}]}",
       "stages.0.name: expected a name of 1 to 64");
  says("{\"weights\": {\"x\": 1}, \"stages\": []}",
       "expected one of the keys \"weights\" or \"stages\", found 2");
  says("{}", "expected one of the keys \"weights\" or \"stages\", found none of them");
}

TEST(AnEdit, NamesEveryTaskWhoseShareItMoves) {
  const auto words = [](const Weights& before, const Weights& now,
                        const std::set<std::string>& dropped = {}) {
    return EditInWords(OneStage(before), OneStage(now), 0, dropped);
  };
  const Weights three = {{"control", 1}, {"zoom", 2}, {"arrow", 1}};
  EXPECT_EQ(words(three, {{"control", 1}, {"zoom", 6}, {"arrow", 1}}),
            "zoom 2 -> 6 (50 % -> 75 %); so control 25 % -> 13 %, arrow 25 % -> 13 %");
  EXPECT_EQ(words(three, {{"control", 2}, {"zoom", 1}, {"arrow", 1}}),
            "control 1 -> 2 (25 % -> 50 %), zoom 2 -> 1 (50 % -> 25 %)")
      << "arrow keeps its quarter";
  EXPECT_EQ(words(three, {{"control", 2}, {"zoom", 4}, {"arrow", 2}}),
            "control 1 -> 2 (25 % -> 25 %), zoom 2 -> 4 (50 % -> 50 %), arrow 1 -> 2 (25 % -> 25 %)");
  EXPECT_EQ(words(three, {{"control", 1}, {"zoom", 2}}),
            "arrow 1 -> 0 (25 % -> 0 %); so control 25 % -> 33 %, zoom 50 % -> 67 %");
  EXPECT_EQ(words(three, {{"control", 1}, {"zoom", 2}, {"arrow", 1}, {"new", 0.0001}}),
            "new 0 -> 0.0001 (0.000 % -> 0.002 %); so control 25.000 % -> 24.999 %, zoom 50.000 % -> "
            "49.999 %, arrow 25.000 % -> 24.999 %")
      << "as many decimals as it takes";
  EXPECT_EQ(words(three, {{"control", 1}, {"zoom", 2}, {"arrow", 2}}, {"zoom"}),
            "arrow 1 -> 2 (50 % -> 67 %); so control 50 % -> 33 %")
      << "who was dropped has no share to lose";
  EXPECT_EQ(words(three, three), "no weight changed");
}

// The same words stand where an edit is told and in its history.
TEST(AnEdit, ThatMovesAShareHasTheDecimalsThatShowIt) {
  EXPECT_EQ(InWords(ShareChange{.task = "a", .before = 0.0009, .after = 0.0017}), "0.1 % -> 0.2 %");
  EXPECT_EQ(InWords(ShareChange{.task = "a", .before = 0.25, .after = 0.4}), "25 % -> 40 %");
  EXPECT_EQ(InWords(ShareChange{.task = "a", .before = 0.251, .after = 0.2512}), "25.10 % -> 25.12 %");
  EXPECT_EQ(InWords(ShareChange{.task = "a", .before = 0.25, .after = 0.25}), "25 % -> 25 %");
  EXPECT_EQ(ShareInWords(0.0004), "0.04 %");
  EXPECT_EQ(ShareInWords(0.4), "40 %");
  EXPECT_EQ(ShareInWords(0), "0 %");
}

// The words of a stage that comes later too; what scripts read has the shares of the present one.
TEST(AnEdit, OfALaterStageNamesItsTasks) {
  const auto stages = [](double zoom) {
    Curriculum curriculum;
    curriculum.stages = {{.name = "first", .weights = {{"control", 1}}},
                         {.name = "late", .weights = {{"control", 1}, {"zoom", zoom}}}};
    return curriculum;
  };
  EXPECT_EQ(EditInWords(stages(1), stages(3), 0),
            "stage late is another; in stage late control 50 % -> 25 %, zoom 50 % -> 75 %");
  EXPECT_TRUE(SharesMovedBy(stages(1), stages(3), 0).empty());
  EXPECT_EQ(ToJson(SharesMovedBy(stages(1), stages(3), 1)).dump(),
            R"({"control":{"before":0.5,"after":0.25},"zoom":{"before":0.5,"after":0.75}})");
  EXPECT_TRUE(SharesMovedBy(stages(1), stages(3), 2).empty()) << "all are over";
}

}  // namespace
}  // namespace medley::testing
