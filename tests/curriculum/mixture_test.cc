#include <gtest/gtest.h>

#include <medley/curriculum/mixture.h>

#include "config/config_testing.h"

namespace medley::testing {
namespace {

std::string WeightMistakes(const Workspace& work, const std::string& text) {
  work.Write("weights.json", text);
  return MistakesOf([&] { ReadMixture(work / "weights.json"); });
}

TEST(WeightsFile, KeepsTheOrderOfTheFileAndReadsBackTheSame) {
  const Workspace work;
  work.Write("weights.json", R"({"$schema": "s", "unit": "tokens", "order": "urn",
                                 "weights": {"zoom": 3, "arrow": 0, "control": 2}})");
  const Mixture mixture = ReadMixture(work / "weights.json");
  EXPECT_EQ(mixture.unit, ShareUnit::kTokens);
  EXPECT_EQ(mixture.order, DrawOrder::kUrn);
  EXPECT_EQ(mixture.weights,
            (std::vector<std::pair<std::string, double>>{{"zoom", 3}, {"arrow", 0}, {"control", 2}}));
  work.Write("again.json", ToJson(mixture).dump());
  EXPECT_EQ(ToJson(ReadMixture(work / "again.json")).dump(), ToJson(mixture).dump());
}

TEST(WeightsFile, RowsInDeficitOrderAreTheDefault) {
  const Workspace work;
  EXPECT_EQ(ReadMixture(work / "weights.json").unit, ShareUnit::kRows);
  EXPECT_EQ(ReadMixture(work / "weights.json").order, DrawOrder::kDeficit);
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

}  // namespace
}  // namespace medley::testing
