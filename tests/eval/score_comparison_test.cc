#include <medley/eval/score_comparison.h>

#include <gtest/gtest.h>

#include <cmath>

#include <medley/eval/score_report.h>
#include <medley/report/statistics.h>

namespace medley {
namespace {

TaskScore Score(const std::vector<double>& rows, bool higher_is_better = true) {
  TaskScore score;
  score.metric = "accuracy";
  score.higher_is_better = higher_is_better;
  score.score = MeanInterval(rows);
  score.rows = score.items = std::ssize(rows);
  score.row_scores = rows;
  score.rows_digest = "same";
  return score;
}

std::vector<double> Rows(double first, double step, int count = 50) {
  std::vector<double> rows;
  for (int i = 0; i < count; ++i) rows.push_back(first + step * (i % 7));
  return rows;
}

ScoreVerdict VerdictOf(const std::vector<double>& a, const std::vector<double>& b, bool higher_is_better) {
  return CompareScores({{"t", Score(a, higher_is_better)}}, {{"t", Score(b, higher_is_better)}})
      .tasks.at("t")
      .verdict;
}

TEST(ScoreComparison, TheVerdictFollowsTheDirectionOfTheScore) {
  const std::vector<double> low = Rows(0.2, 0.1), high = Rows(0.3, 0.11);
  EXPECT_EQ(VerdictOf(high, low, true), ScoreVerdict::kBetter);
  EXPECT_EQ(VerdictOf(low, high, true), ScoreVerdict::kWorse);
  EXPECT_EQ(VerdictOf(high, low, false), ScoreVerdict::kWorse);
  EXPECT_EQ(VerdictOf(low, high, false), ScoreVerdict::kBetter);
  EXPECT_EQ(VerdictOf(low, low, true), ScoreVerdict::kNoDifference);
  std::vector<double> mixed = low;
  for (std::size_t i = 0; i < mixed.size(); ++i) mixed[i] += i % 2 == 0 ? 0.2 : -0.19;
  EXPECT_EQ(VerdictOf(mixed, low, true), ScoreVerdict::kNoDifference);
}

TEST(ScoreComparison, OneRowShowsNoDifference) {
  EXPECT_EQ(VerdictOf({1}, {0}, true), ScoreVerdict::kNoDifference);
  EXPECT_EQ(VerdictOf({NAN, NAN}, {0, 1}, true), ScoreVerdict::kNoDifference);
}

TEST(ScoreComparison, WhatCannotBeComparedIsListedWithItsReason) {
  Scores here{{"both", Score(Rows(0, 1))},
              {"mine", Score(Rows(0, 1))},
              {"moved", Score(Rows(0, 1))},
              {"renamed", Score(Rows(0, 1))}};
  Scores there{{"both", Score(Rows(1, 1))},
               {"moved", Score(Rows(0, 1))},
               {"renamed", Score(Rows(0, 1))},
               {"theirs", Score(Rows(0, 1))}};
  there["moved"].rows_digest = "other";
  there["renamed"].metric = "error";
  const Comparison comparison = CompareScores(here, there);
  EXPECT_EQ(comparison.tasks.size(), 1u);
  EXPECT_EQ(comparison.skipped.at("mine"), "only this run trains it");
  EXPECT_EQ(comparison.skipped.at("theirs"), "only the other run trains it");
  EXPECT_NE(comparison.skipped.at("moved").find("do not show the same pictures"), std::string::npos);
  EXPECT_NE(comparison.skipped.at("renamed").find("accuracy here and by error there"), std::string::npos);

  const std::string table = ComparisonTable(comparison);
  EXPECT_NE(
      table.find("both  accuracy  higher      2.94       3.94          -1       -1 .. -1    50    worse\n"),
      std::string::npos)
      << table;
  EXPECT_NE(table.find("not compared: mine (only this run trains it)\n"), std::string::npos) << table;
  const auto json = ComparisonJson(comparison);
  EXPECT_EQ(json.at("tasks").at("both").at("verdict"), "worse");
  EXPECT_EQ(json.at("tasks").at("both").at("difference"), -1);
  EXPECT_EQ(json.at("skipped").size(), 4u);
}

// Right three times of five beside twice: five lines of a file say nothing, a hundred rows of them no more.
TEST(ScoreComparison, RowsOfTheSameItemsDecideNothing) {
  std::vector<double> first, second;
  RowItems items;
  for (std::int64_t row = 0; row < 200; ++row) {
    first.push_back(row % 5 < 3 ? 1 : 0);
    second.push_back(row % 5 < 1 || row % 5 == 3 ? 1 : 0);
    items.push_back(row % 5);
  }
  EXPECT_EQ(VerdictOf(first, second, true), ScoreVerdict::kBetter) << "two hundred lines would";
  Scores here{{"t", Score(first)}}, there{{"t", Score(second)}};
  here["t"].row_items = items;
  here["t"].items = 5;
  const Comparison comparison = CompareScores(here, there);
  EXPECT_EQ(comparison.tasks.at("t").verdict, ScoreVerdict::kNoDifference);
  EXPECT_NEAR(comparison.tasks.at("t").difference.value, 0.2, 1e-9);
  const std::string table = ComparisonTable(comparison);
  EXPECT_NE(table.find("200 of 5 items"), std::string::npos) << table;
  EXPECT_EQ(ComparisonJson(comparison).at("tasks").at("t").at("rows"), 200);
  EXPECT_EQ(ComparisonJson(comparison).at("tasks").at("t").at("items"), 5);
}

TEST(ScoreReport, SaysHowManyItemsStandBehindRows) {
  EXPECT_EQ(FormatRows(512, 512), "512");
  EXPECT_EQ(FormatRows(512, 20), "512 of 20 items");
  EXPECT_EQ(FormatRows(3, 1), "3 of 1 item");
}

TEST(ScoreReport, AFigureHasALineOfItsOwnAndSaysHowManyRowsCount) {
  Scores scores{{"complex_loss", Score(Rows(0, 1))}};
  scores["complex_loss"].figures["detection"] = {.value = {0.5, 0.4, 0.6}, .rows = 50, .items = 50};
  scores["complex_loss"].figures["distance"] = {.value = MeanInterval({NAN}), .rows = 0, .items = 0};
  const std::string table = ScoresTable(scores);
  EXPECT_NE(table.find("detection            0.5      0.4 .. 0.6                  50\n"), std::string::npos)
      << table;
  EXPECT_NE(table.find(" - .. - "), std::string::npos) << table;
  const auto figures =
      nlohmann::json::parse(ScoresJson(scores).dump()).at("tasks").at("complex_loss").at("figures");
  EXPECT_EQ(figures.at("detection"),
            (nlohmann::json{{"value", 0.5}, {"low", 0.4}, {"high", 0.6}, {"rows", 50}, {"items", 50}}));
  EXPECT_TRUE(figures.at("distance").at("value").is_null());
  EXPECT_EQ(figures.at("distance").at("rows"), 0);
}

}  // namespace
}  // namespace medley
