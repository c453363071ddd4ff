#include <gtest/gtest.h>

#include <string>

#include <medley/base/error.h>
#include <medley/page/run_verdict.h>

#include "tests/report/scratch_directory.h"
#include "tests/words.h"

namespace medley {
namespace {

using test::Has;

// A run's log of steps, line by line.
class Verdicts : public ::testing::Test {
 protected:
  void Step(const std::string& task, double loss, const std::string& eval = "") {
    const std::string number = std::to_string(++step_);
    log_ += R"({"step": )" + number + R"(, "draws": [{"task": ")" + task +
            R"(", "begin": 0, "rows": 4}], "loss": 1, "terms": {")" + task +
            R"(": {"image": {"mean": 1, "sum": 4, "count": 4, "weighted": )" + std::to_string(loss) + "}}}" +
            (eval.empty() ? "" : R"(, "eval": {)" + eval + "}") + "}\n";
    WriteText(scratch_ / "metrics.jsonl", log_);
  }
  // Of a task whose chance is 0.25.
  static std::string Score(const std::string& task, double low, double high,
                           const std::string& chance = "0.25") {
    return "\"" + task + R"(": {"metric": "accuracy", "better": "higher", "value": 0.5, "low": )" +
           std::to_string(low) + R"(, "high": )" + std::to_string(high) + R"(, "chance": )" + chance +
           R"(, "trivial": {}, "rows": 32, "items": 32, "figures": {}, "loss": 1})";
  }
  RunVerdict Verdict() const { return VerdictOf(scratch_.path()); }

  ScratchDirectory scratch_;
  std::string log_;
  int step_ = 0;
};

TEST_F(Verdicts, CountEachTasksLastScore) {
  Step("a", 3, Score("a", 0.1, 0.9) + ", " + Score("b", 0.3, 0.6));
  Step("a", 2);
  Step("b", 2, Score("a", 0.3, 0.9));  // a stage's own evaluation, of one task
  RunVerdict verdict = Verdict();
  EXPECT_EQ(verdict.words, "2 of 2 tasks are clear of chance and of all that needs no learning");
  EXPECT_EQ(verdict.step, 3);
  Step("b", 2, Score("b", 0.2, 0.6) + ", " + Score("c", 0.9, 1, "null"));
  verdict = Verdict();
  EXPECT_EQ(verdict.words, "1 of 2 tasks are clear of chance and of all that needs no learning (not: b)");
  EXPECT_EQ(verdict.step, 4);
}

TEST_F(Verdicts, OfScoresWithoutABaselineSayThatNothingIsKnown) {
  Step("a", 3, Score("a", 0.1, 0.9, "null"));
  EXPECT_EQ(Verdict().words, "1 task was scored; nothing is known of it that needs no learning");
  Step("a", 3, Score("b", 0.1, 0.9, "null"));
  EXPECT_EQ(Verdict().words, "2 tasks were scored; nothing is known of them that needs no learning");
}

// As report and page have it, which say it beside this one.
TEST_F(Verdicts, CountWhatMedleyEvalFoundWhereItCameLast) {
  const auto eval = [&](int step, const std::string& scores) {
    WriteText(scratch_ / "eval.json",
              R"({"step": )" + std::to_string(step) + R"(, "tasks": {)" + scores + "}}");
  };
  Step("a", 3);
  eval(1, Score("a", 0.3, 0.9));
  EXPECT_EQ(Verdict().words, "1 of 1 task is clear of chance and of all that needs no learning");
  EXPECT_EQ(Verdict().step, 1);
  Step("a", 3, Score("a", 0.1, 0.9));
  EXPECT_EQ(Verdict().words, "0 of 1 task is clear of chance and of all that needs no learning") << "later";
  eval(2, Score("a", 0.26, 0.9) + ", " + Score("b", 0.3, 0.9));
  EXPECT_EQ(Verdict().words, "2 of 2 tasks are clear of chance and of all that needs no learning");
  WriteText(scratch_ / "eval.json", R"({"step": 3})");
  EXPECT_EQ(Verdict().step, 2) << "no scores are in it";
}

TEST_F(Verdicts, WithoutAScoreTellHowLossesFell) {
  EXPECT_EQ(Verdict().words, "");  // no log yet
  for (int i = 0; i < 20; ++i) Step("a", i < 2 ? 4 + 2 * i : i >= 18 ? 2 * (i - 17) - 1 : 100);
  Step("eval", 3);  // a task of that name is no evaluation
  EXPECT_EQ(Verdict().words,
            "nothing was scored; loss, from the first tenth of the draws to the last: a 5 -> 2, eval 3 -> 3");
  EXPECT_EQ(Verdict().step, 0);
  for (const char* task : {"b", "c", "d", "e"}) Step(task, 1);
  EXPECT_TRUE(Has(Verdict().words, "d 1 -> 1 and 2 more")) << Verdict().words;
}

TEST_F(Verdicts, AScoreThatCannotBeReadIsAnInputError) {
  Step("a", 3, R"("a": {"metric": 7})");
  EXPECT_THROW(Verdict(), InputError);
}

}  // namespace
}  // namespace medley
