#include <gtest/gtest.h>
#include <medley/update/loss_scale.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace medley {
namespace {

TEST(LossScale, IsOneForEverWhereTheRunIsNotInFp16) {
  LossScale scale;
  EXPECT_EQ(scale.now(), 1);
  EXPECT_FALSE(scale.Halve());
  for (int i = 0; i < 3 * LossScale::kStepsToDouble; ++i) scale.Updated();
  EXPECT_EQ(scale.now(), 1);
  scale.Load({{"scale", 1024.0}, {"steps", 3}});
  EXPECT_EQ(scale.now(), 1);
}

TEST(LossScale, HalvesDownToOneAndDoublesAfterALongTime) {
  LossScale scale(true);
  double expected = LossScale::kFirst;
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(scale.now(), expected);
    EXPECT_TRUE(scale.Halve());
    expected /= 2;
  }
  EXPECT_EQ(scale.now(), 1);
  EXPECT_FALSE(scale.Halve());
  for (int i = 1; i < LossScale::kStepsToDouble; ++i) scale.Updated();
  EXPECT_EQ(scale.now(), 1);
  scale.Updated();
  EXPECT_EQ(scale.now(), 2);
  for (int i = 0; i < 40 * LossScale::kStepsToDouble; ++i) scale.Updated();
  EXPECT_EQ(scale.now(), LossScale::kMost);
}

TEST(LossScale, GoesOnWhereItWasSavedAndTakesNothingElse) {
  LossScale scale(true), other(true);
  scale.Halve();
  for (int i = 1; i < LossScale::kStepsToDouble; ++i) scale.Updated();
  other.Load(scale.Save());
  EXPECT_EQ(other.now(), scale.now());
  other.Updated();
  EXPECT_EQ(other.now(), 2 * scale.now());
  for (const nlohmann::json& bad :
       {nlohmann::json{{"scale", 3.0}, {"steps", 1}}, nlohmann::json{{"scale", 0.5}, {"steps", 1}},
        nlohmann::json{{"scale", 1e30}, {"steps", 1}}, nlohmann::json{{"scale", 2.0}, {"steps", -1}}})
    EXPECT_THROW(other.Load(bad), std::out_of_range) << bad;
  EXPECT_THROW(other.Load({{"scale", "two"}, {"steps", 1}}), nlohmann::json::exception);
  EXPECT_EQ(other.now(), 2 * scale.now());
}

}  // namespace
}  // namespace medley
