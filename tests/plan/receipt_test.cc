#include <gtest/gtest.h>
#include <medley/base/error.h>
#include <medley/base/newer.h>
#include <medley/plan/receipt.h>

#include <algorithm>
#include <random>

#include "tests/words.h"

namespace medley {
namespace {

DrawReceipt Draw(std::int64_t measured, std::int64_t predicted = 1000, std::int64_t margin = 0) {
  return {.form = FormId("zoom"),
          .mode = "sequential",
          .micro_rows = 8,
          .predicted = predicted,
          .margin = margin,
          .measured = measured,
          .rows = 8,
          .tokens_run = 100,
          .forwards = 2};
}

TEST(Receipt, GradesAreTheDeclaredOnes) {
  EXPECT_EQ(GradeOf(1000, 0, 1001), Grade::kUnder);
  EXPECT_EQ(GradeOf(1000, 50, 1001), Grade::kShort);
  EXPECT_EQ(GradeOf(1000, 50, 1050), Grade::kShort);
  EXPECT_EQ(GradeOf(1000, 50, 1051), Grade::kUnder);
  EXPECT_EQ(GradeOf(1000, 0, 1000), Grade::kCovered);
  EXPECT_EQ(GradeOf(1000, 0, 900), Grade::kCovered);
  EXPECT_EQ(GradeOf(1000, 0, 899), Grade::kLoose);
}

TEST(Receipt, AForgedUnderEstimateIsGradedUnderAndPrinted) {
  Receipt receipt;
  for (int i = 0; i < 9; ++i) receipt.Record(Draw(1000));
  EXPECT_EQ(receipt.under(), 0);
  EXPECT_EQ(ReceiptTable(receipt).find("UNDER"), std::string::npos);
  receipt.Record(Draw(1001));
  EXPECT_EQ(receipt.under(), 1);
  EXPECT_NE(ReceiptTable(receipt).find("UNDER-ESTIMATED: task zoom"), std::string::npos);
  EXPECT_EQ(receipt.ToJson()["under_estimates"], 1);
}

TEST(Receipt, AnOverflowIsAnUnderEstimateOfTheUncutDraws) {
  Receipt receipt;
  receipt.Record(Draw(700));
  DrawReceipt overflow = Draw(990);  // below the prediction: the block that did not fit was never there
  receipt.RecordOverflow(overflow, 0);
  DrawReceipt cut = Draw(300, 600);
  cut.micro_rows = 4;
  cut.cut = true;
  receipt.Record(cut);
  cut.predicted = 0;  // without a line
  cut.micro_rows = 2;
  receipt.Record(cut);
  EXPECT_EQ(receipt.under(), 1);
  EXPECT_EQ(receipt.overflows(), 1);
  const auto& epochs = receipt.forms().at(FormId("zoom"));
  ASSERT_EQ(epochs.size(), 3U);
  EXPECT_EQ(epochs[0].draws, 1);
  EXPECT_EQ(epochs[0].largest, 700);
  EXPECT_EQ(epochs[0].reached, 990);
  EXPECT_EQ(epochs[0].forwards, 4) << "what ran before it overflowed ran";
  EXPECT_EQ(epochs[0].rows, 8) << "but was not trained";
  const std::string text = ReceiptTable(receipt);
  for (const char* words :
       {"\n1 draws: 0 above", "1 further below (their rows were shorter than the longest)\n",
        "2 draws in smaller micro-batches, after an overflow: 0 above",
        "1 further below, 1 without a prediction\n", "1 overflows",
        "OVERFLOWED: task zoom ran out of memory 1 time (sequential, micro rows 8), with 990 B in use and "
        "1000 B predicted"})
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
  EXPECT_EQ(text.find("UNDER-ESTIMATED"), std::string::npos) << "no draw that ran was";
  EXPECT_EQ(receipt.ToJson()["under_estimates"], 1);
  EXPECT_EQ(Receipt::FromJson(receipt.ToJson()).ToJson(), receipt.ToJson());
}

TEST(Receipt, AnOverflowWithoutAPlanIsNoUnderEstimateAndWhatItLeftIsSaid) {
  Receipt receipt;
  receipt.RecordOverflow(Draw(990, 0), 77);
  EXPECT_EQ(receipt.under(), 0);
  EXPECT_EQ(receipt.overflows(), 1);
  EXPECT_NE(ReceiptTable(receipt).find("it left 77 B behind, which is a bug"), std::string::npos)
      << ReceiptTable(receipt);
}

TEST(Receipt, ReceiptsOfBeforeOverflowsWereCountedCanBeRead) {
  Receipt receipt;
  receipt.Record(Draw(700));
  nlohmann::ordered_json old = receipt.ToJson();
  old.erase("overflows");
  for (const char* key : {"overflows", "cut"}) EXPECT_EQ(old["tasks"]["zoom"][0].erase(key), 1U);
  EXPECT_EQ(Receipt::FromJson(old).ToJson(), receipt.ToJson());
}

TEST(Receipt, AddsUpWhatReallyRan) {
  Receipt receipt;
  for (int i = 0; i < 5; ++i) receipt.Record(Draw(900 + i));
  const PlanEpoch& epoch = receipt.forms().at(FormId("zoom")).at(0);
  EXPECT_EQ(epoch.draws, 5);
  EXPECT_EQ(epoch.rows, 40);
  EXPECT_EQ(epoch.tokens_run, 500);
  EXPECT_EQ(epoch.forwards, 10);
  EXPECT_EQ(epoch.smallest, 900);
  EXPECT_EQ(epoch.median(), 902);
  EXPECT_EQ(epoch.largest, 904);
}

TEST(Receipt, AnotherPlanBeginsAnotherLine) {
  Receipt receipt;
  receipt.Record(Draw(900));
  receipt.Record(Draw(400, 500));
  receipt.Record(Draw(450, 500));
  const auto& epochs = receipt.forms().at(FormId("zoom"));
  ASSERT_EQ(epochs.size(), 2U);
  EXPECT_EQ(epochs[0].draws, 1);
  EXPECT_EQ(epochs[1].draws, 2);
}

TEST(Receipt, WithoutAPlanOnlyTheMeasuredPeakCounts) {
  Receipt receipt;
  receipt.Record(Draw(12345, 0));
  EXPECT_EQ(receipt.under(), 0);
  EXPECT_EQ(receipt.forms().at(FormId("zoom")).at(0).largest, 12345);
}

TEST(Receipt, TheMedianOfALongRunIsThatOfEvenlySpreadDraws) {
  std::mt19937 random(1);
  PlanEpoch epoch;
  std::vector<std::int64_t> all;
  for (int i = 0; i < 20000; ++i) {
    all.push_back(static_cast<std::int64_t>(random() % 1000));
    epoch.Add(Draw(all.back()));
  }
  std::sort(all.begin(), all.end());
  EXPECT_LE(epoch.samples.size(), 512U);
  EXPECT_GE(epoch.samples.size(), 256U);
  EXPECT_NEAR(static_cast<double>(epoch.median()), static_cast<double>(all[10000]), 100);
  EXPECT_EQ(epoch.largest, all.back());
}

TEST(Receipt, GoesOnAfterItWasSavedAsIfItHadNotStopped) {
  Receipt whole, half;
  for (int i = 0; i < 3000; ++i) {
    const DrawReceipt draw = Draw(900 + i % 150, i < 2000 ? 1000 : 1040);
    whole.Record(draw);
    half.Record(draw);
    if (i % 700 == 0) half = Receipt::FromJson(half.ToJson());
  }
  EXPECT_EQ(half.ToJson(), whole.ToJson());
  EXPECT_THROW(Receipt::FromJson(nullptr), Error);
}

TEST(Receipt, OfANewerMedleySaysSo) {
  nlohmann::ordered_json json = Receipt().ToJson();
  json["format"] = 2;
  EXPECT_EQ(test::MessageOf<NewerError>([&] { Receipt::FromJson(json, "wait"); }),
            "this receipt is of a newer medley (format 2, this one reads 1). Use that medley, or wait");
  json["format"] = 0;
  EXPECT_EQ(test::MessageOf([&] { Receipt::FromJson(json); }), "this is no receipt of medley's: format is 0");
}

}  // namespace
}  // namespace medley
