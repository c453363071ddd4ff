#include <medley/eval/score_comparison.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>

#include <medley/eval/score_report.h>
#include <medley/report/screen.h>
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
      table.find("both  accuracy      2.94       3.94       -1.00   -1.00..-1.00    worse  higher    50\n"),
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

TEST(ScoreReport, NumbersHaveThreeDigits) {
  for (const auto& [value, words] : std::vector<std::pair<double, std::string>>{{0.034123, "0.0341"},
                                                                                {0.5, "0.500"},
                                                                                {0, "0.00"},
                                                                                {-0.99996, "-1.00"},
                                                                                {12.345, "12.3"},
                                                                                {99.97, "100"},
                                                                                {1234.5, "1234"},
                                                                                {INFINITY, "-"},
                                                                                {NAN, "-"}})
    EXPECT_EQ(FormatScore(value), words);
  EXPECT_EQ(FormatInterval({.value = 0.5, .low = 0.25, .high = 0.75}), "0.250..0.750");
  EXPECT_EQ(FormatInterval({.value = 0.5, .low = NAN, .high = NAN}), "-");
}

// Tasks as they are: names as long as the game's, baselines with long names, one, several or none.
LastScores ManyScores() {
  LastScores scores;
  const auto add = [&](const std::string& task, const char* metric, bool higher,
                       Interval value) -> ScoreRecord& {
    ScoreRecord& score = scores[task].score;
    score.metric = metric;
    score.higher_is_better = higher;
    score.score = value;
    score.rows = score.items = 512;
    score.loss = 0.123456;
    scores[task].step = 6000;
    return score;
  };
  add("arrow_to_gold", "region_error", false, {0.034123, 0.031234, 0.037123}).trivial = {
      {"input", 0.2}, {"mean target", 0.08451}};
  add("gold_direction_qa", "accuracy", true, {0.936, 0.915, 0.957}).chance = 0.25;
  scores["gold_direction_qa"].score.trivial = {{"most frequent answer", 0.27123}};
  add("position_qa", "accuracy", true, {0.26, 0.23, 0.30}).chance = 0.25;
  add("open", "distance", false, {1.5, 1.25, 1.75});
  add("broken", "accuracy", true, {NAN, NAN, NAN}).chance = 0.5;
  return scores;
}

std::size_t WidestLine(const std::string& text) {
  std::size_t widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, TextWidth(line));
  return widest;
}

class OnAScreen : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override { ::setenv("COLUMNS", std::to_string(GetParam()).c_str(), 1); }
  void TearDown() override { ::unsetenv("COLUMNS"); }
  std::size_t columns() const { return static_cast<std::size_t>(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Columns, OnAScreen, ::testing::Values(80, 100, 120, 200));

TEST_P(OnAScreen, EveryTaskHasItsScoresNameValueIntervalBaselineAndVerdict) {
  LastScores scores = ManyScores();
  const std::string all = ScoresTable(scores);
  EXPECT_LE(WidestLine(all), columns()) << all;
  for (const char* words :
       {"task", "score", "value", "95 % interval", "best without", "clear", "region_error", "0.0341",
        "0.0312..0.0371", "target 0.0845", "chance 0.250", "yes", "no", "most frequent", "distance"})
    EXPECT_NE(all.find(words), std::string::npos) << words << "\n" << all;
  EXPECT_EQ(all.find("- .."), std::string::npos) << all;
  EXPECT_TRUE(VerdictWords(scores).starts_with(
      "2 of 3 tasks are clear of chance and of all that needs no learning (not: "))
      << VerdictWords(scores);

  if (columns() == 80) scores.erase("gold_direction_qa");  // the longest names break their own cell
  const std::string table = ScoresTable(scores);
  std::size_t named = 0;
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) named += scores.count(line.substr(0, line.find(' ')));
  const std::string body =
      table.substr(table.find("arrow_to_gold"), table.find("(no room") - table.find("arrow_to_gold"));
  EXPECT_EQ(named, scores.size()) << table;
  EXPECT_EQ(static_cast<std::size_t>(std::count(body.begin(), body.end(), '\n')), named) << "a line a task\n"
                                                                                         << table;
}

TEST_P(OnAScreen, ScoresOfAnEarlierStepAreNamedBelow) {
  LastScores scores = ManyScores();
  EXPECT_EQ(ScoresTable(scores).find("scored earlier"), std::string::npos);
  scores["open"].step = 3000;
  const std::string table = ScoresTable(scores);
  EXPECT_TRUE(table.ends_with("(scored earlier: open after step 3000)\n")) << table;
  EXPECT_EQ(NewestStep(scores), 6000);
}

TEST(ScoreReport, WithoutABaselineOrAnIntervalThereIsNoVerdict) {
  LastScores scores;
  EXPECT_EQ(VerdictWords(scores), "");
  scores["open"].score.score = {1.5, 1.25, 1.75};
  EXPECT_EQ(VerdictWords(scores), "1 task was scored; nothing is known of it that needs no learning");
  scores["one"].score.score = {1, NAN, NAN};
  scores["one"].score.chance = 0.5;
  EXPECT_EQ(VerdictWords(scores), "2 tasks were scored; nothing is known of them that needs no learning");
  scores["one"].score.score = {1, 0.75, 1};
  EXPECT_EQ(VerdictWords(scores), "1 of 1 task is clear of chance and of all that needs no learning");
  scores["one"].score.chance.reset();
  scores["one"].score.trivial["most frequent reply"] = 0.7;
  EXPECT_EQ(VerdictWords(scores), "1 of 1 task is clear of all that needs no learning")
      << "chance of nothing";
}

TEST(ScoreReport, AFigureHasALineOfItsOwnAndSaysHowManyRowsCount) {
  Scores scores{{"complex_loss", Score(Rows(0, 1))}};
  scores["complex_loss"].figures["detection"] = {.value = {0.5, 0.4, 0.6}, .rows = 50, .items = 50};
  scores["complex_loss"].figures["distance"] = {.value = MeanInterval({NAN}), .rows = 0, .items = 0};
  const std::string table = FiguresTable(ScoresAfter(1, scores));
  EXPECT_EQ(table,
            "task          figure     value  95 % interval  rows\n"
            "complex_loss  detection  0.500   0.400..0.600    50\n"
            "(no row counts for complex_loss: distance)\n");
  EXPECT_EQ(FiguresTable(ManyScores()), "");
  const auto figures =
      nlohmann::json::parse(ScoresJson(scores).dump()).at("tasks").at("complex_loss").at("figures");
  EXPECT_EQ(figures.at("detection"),
            (nlohmann::json{{"value", 0.5}, {"low", 0.4}, {"high", 0.6}, {"rows", 50}, {"items", 50}}));
  EXPECT_TRUE(figures.at("distance").at("value").is_null());
  EXPECT_EQ(figures.at("distance").at("rows"), 0);
}

// One nat a token of two bytes is 0.72 bits a byte.
TEST(ScoreReport, TextHasPerplexityAndBitsAByteBesideItsLossAndWhatTheyWereBefore) {
  Scores scores{{"control", Score(Rows(0, 1))}};
  scores["control"].text["words"] = {.loss = 1, .tokens = 50, .bytes = 100};
  scores["control"].text["ids"] = {.loss = 0, .tokens = 7};
  LastScores now = ScoresAfter(9, scores);
  EXPECT_EQ(TextLossesTable(now),
            "task     text   loss  perplexity  bits a byte  tokens\n"
            "control  ids       0        1.00            -       7\n"
            "         words     1        2.72        0.721      50\n"
            "(no bits a byte of control ids: its vocabulary does not tell the bytes of these tokens)\n");
  EXPECT_EQ(TextLossesTable(ManyScores()), "");
  EXPECT_EQ(ScoresTable(now).find("before"), std::string::npos);

  const ScoreRecord read = ScoreRecordFrom(nlohmann::json::parse(ToJson(scores["control"]).dump()));
  EXPECT_EQ(read.text.at("words").bytes, 100);
  EXPECT_EQ(read.text.at("ids").bits_per_byte(), std::nullopt);
  now["control"].before = read;
  now["control"].before->text["words"].loss = 2;
  EXPECT_NE(TextLossesTable(now).find("7.39"), std::string::npos) << TextLossesTable(now);
  EXPECT_NE(ScoresTable(now).find("before"), std::string::npos) << ScoresTable(now);
}

}  // namespace
}  // namespace medley
