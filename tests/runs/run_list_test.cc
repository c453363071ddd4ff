// Runs side by side: which are shown, in which order, and what of them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include <medley/base/error.h>
#include <medley/report/screen.h>
#include <medley/runs/run_list.h>
#include <medley/runs/runs_below.h>

#include "tests/runs/made_run.h"
#include "tests/words.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using test::Has;
using test::MadeRun;

class RunListTest : public ::testing::Test {
 protected:
  RunListTest() {
    ::setenv("XDG_CACHE_HOME", (scratch_ / "cache").c_str(), 1);
    ::setenv("COLUMNS", "80", 1);
    Make("old", 0.001, 0, {{1, 0.9}, {3, 0.4}}, "2026-03-01T12:00:00Z");
    Make("mid", 0.01, 0, {{3, 0.7}}, "2026-03-02T12:00:00Z");
    Make("new", 0.01, 1, {}, "2026-03-03T12:00:00Z");
  }
  ~RunListTest() override {
    ::unsetenv("XDG_CACHE_HOME");
    ::unsetenv("COLUMNS");
  }

  void Make(const std::string& name, double rate, int seed,
            std::vector<std::pair<std::int64_t, double>> scores, const std::string& began) const {
    MadeRun run{.config = {{"optimizer", {{"learning_rate", rate}}}, {"seed", seed}}, .began = began};
    if (!scores.empty()) run.scores["zoom"] = std::move(scores);
    run.WriteIn(runs_ / name);
  }
  RunList List(RunsRequest request = {}) const {
    request.directories = {runs_};
    return ListRuns(RunsBelow({runs_}), request);
  }
  std::string Names(const RunsRequest& request) const {
    std::string names;
    for (const ListedRun& one : List(request).runs) names += (names.empty() ? "" : " ") + one.name;
    return names;
  }
  std::string Mistake(const RunsRequest& request) const {
    return test::MessageOf<InputError>([&] { List(request); });
  }

  ScratchDirectory scratch_;
  const fs::path runs_ = scratch_ / "runs";
};

TEST_F(RunListTest, HasTheNewestLastAndSortsByAnyKey) {
  EXPECT_EQ(Names({}), "old mid new");
  EXPECT_EQ(Names({.reverse = true}), "new mid old");
  EXPECT_EQ(Names({.last = 2}), "mid new");
  EXPECT_EQ(Names({.sort = "name"}), "mid new old");
  EXPECT_EQ(Names({.sort = "zoom"}), "old mid new") << "the best first, none at the end";
  EXPECT_EQ(Names({.sort = "learning_rate"}), "old mid new");
  EXPECT_EQ(Names({.sort = "name", .last = 2}), "mid new");
}

TEST_F(RunListTest, LeavesOutWhatIsNotAskedFor) {
  EXPECT_EQ(Names({.where = {"learning_rate=0.01"}}), "mid new");
  EXPECT_EQ(Names({.where = {"optimizer.learning_rate=1e-2", "seed=1"}}), "new") << "numbers are compared";
  EXPECT_EQ(Names({.where = {"zoom>0.8"}}), "old");
  EXPECT_EQ(Names({.where = {"zoom<0.8"}}), "mid");
  EXPECT_EQ(Names({.where = {"name=*e*"}}), "new");
  EXPECT_EQ(Names({.where = {"when>2026-03-02"}}), "mid new");
  EXPECT_EQ(Names({.where = {"balance=0.9"}}), "old mid new") << "a default, which no config says";
  EXPECT_EQ(Names({.where = {"state=training"}}), "");
}

TEST_F(RunListTest, RefusesAKeyThatNoRunHas) {
  EXPECT_TRUE(Has(Mistake({.where = {"lerning_rate=1"}}), "did you mean 'optimizer.learning_rate'"))
      << Mistake({.where = {"lerning_rate=1"}});
  EXPECT_TRUE(Has(Mistake({.sort = "every"}), "several keys end so")) << Mistake({.sort = "every"});
  for (const char* wrong : {"zoom", "=3", "zoom=", "zoom<=3", ""})
    EXPECT_TRUE(Has(Mistake({.where = {wrong}}), "expected KEY=VALUE")) << wrong;
}

TEST_F(RunListTest, ShowsWhatDiffersAndBesideTheBestScoreAWorseLastOne) {
  const std::string text = RunsText(List());
  EXPECT_TRUE(Has(text, "learning_rate"));
  EXPECT_TRUE(Has(text, "seed"));
  EXPECT_FALSE(Has(text, "balance"));
  EXPECT_TRUE(Has(text, "0.900\u00a0(0.400)") || Has(text, "0.900 (0.400)")) << text;
  EXPECT_TRUE(Has(text, "3/3"));
}

TEST_F(RunListTest, FitsIntoEightyColumnsAndKeepsWhatWasNamed) {
  for (int task = 0; task < 12; ++task) {
    MadeRun run{.config = {{"optimizer", {{"learning_rate", 0.5}}}}};
    run.scores["a_long_name_of_task_" + std::to_string(task)] = {{2, 0.5}};
    run.WriteIn(runs_ / ("more/run-" + std::to_string(task)));
  }
  const std::string last = "a_long_name_of_task_9";
  std::istringstream lines(RunsText(List()));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(TextWidth(line), 80u) << line;
  const std::string text = RunsText(List({.sort = last}));
  EXPECT_TRUE(Has(text.substr(0, text.find('\n', text.find("more/"))), "task_9")) << text;
}

TEST_F(RunListTest, SaysWhyOneFailedAndPrintsNoNameThatMovesTheCursor) {
  MadeRun{.ended = {{"step", 3}, {"how", "failed"}, {"why", "memory ran out"}}}.WriteIn(runs_ /
                                                                                        "bad\x1b[2J\n");
  const std::string text = RunsText(List());
  EXPECT_TRUE(Has(text, "bad\\x1b[2J\\x0a: failed: memory ran out")) << text;
  EXPECT_FALSE(Has(text, "\x1b"));
}

TEST_F(RunListTest, TellsJsonTheSame) {
  const ordered_json json = RunsJson(List({.where = {"name=old"}}));
  ASSERT_EQ(json.at("runs").size(), 1u);
  const ordered_json& run = json.at("runs").at(0);
  EXPECT_EQ(run.at("scores").at("zoom").at("best"), 0.9);
  EXPECT_EQ(run.at("scores").at("zoom").at("last_step"), 3);
  EXPECT_EQ(run.at("why"), "all its steps are done");
  EXPECT_EQ(RunsJson(List()).at("differs"), (ordered_json{"optimizer.learning_rate", "seed"}));
}

}  // namespace
}  // namespace medley
