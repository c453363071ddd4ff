// Finding runs, and what is kept of them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include <medley/base/error.h>
#include <medley/runs/runs_below.h>

#include "tests/runs/made_run.h"
#include "tests/words.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::Has;
using test::MadeRun;

class RunsBelowTest : public ::testing::Test {
 protected:
  RunsBelowTest() { ::setenv("XDG_CACHE_HOME", (scratch_ / "cache").c_str(), 1); }
  ~RunsBelowTest() override { ::unsetenv("XDG_CACHE_HOME"); }

  RunFacts OnlyOne() const {
    const std::vector<RunSummary> runs = RunsBelow({runs_});
    EXPECT_EQ(runs.size(), 1u);
    return runs.front().facts;
  }
  // Puts another number into what is kept of the only run.
  void ChangeWhatIsKept(std::int64_t step) const {
    json cache = json::parse(ReadText(cache_));
    for (json& run : cache.at("runs")) run["facts"]["step"] = step;
    WriteText(cache_, cache.dump());
  }

  ScratchDirectory scratch_;
  const fs::path runs_ = scratch_ / "runs", cache_ = scratch_ / "cache/medley/runs.json";
};

TEST_F(RunsBelowTest, AreFoundAtAnyDepthAndNotWithinOneAnother) {
  for (const char* run : {"a", "b/c/seed-0", "b/c/seed-1"}) MadeRun{}.WriteIn(runs_ / run);
  fs::create_directories(runs_ / "a/rank-1");
  WriteText(runs_ / "a/rank-1/config.resolved.json", "{}");
  MadeRun{}.WriteIn(runs_ / ".hidden");
  fs::create_directory_symlink("..", runs_ / "b/up");
  WriteText(runs_ / "notes.txt", "");
  EXPECT_EQ(FindRuns({runs_ / "", runs_ / "a"}),
            (std::vector<fs::path>{runs_ / "a", runs_ / "b/c/seed-0", runs_ / "b/c/seed-1"}));
  EXPECT_TRUE(Has(test::MessageOf<InputError>([&] { FindRuns({runs_ / "nowhere"}); }), "nowhere"));
}

TEST_F(RunsBelowTest, TellTheBestScoreAndTheLast) {
  MadeRun{.scores = {{"zoom", {{1, 0.5}, {2, 0.9}, {3, 0.7}}}}}.WriteIn(runs_ / "run");
  const ScoreCourse zoom = OnlyOne().scores.at("zoom");
  EXPECT_DOUBLE_EQ(zoom.best, 0.9);
  EXPECT_EQ(zoom.best_step, 2);
  EXPECT_DOUBLE_EQ(zoom.last, 0.7);
  MadeRun{.scores = {{"zoom", {{1, 0.5}, {2, 0.9}, {3, 0.7}}}}, .higher_is_better = false}.WriteIn(runs_ /
                                                                                                   "run");
  EXPECT_DOUBLE_EQ(OnlyOne().scores.at("zoom").best, 0.5);
}

TEST_F(RunsBelowTest, TakeMedleyEvalsScoreWhereItCameLast) {
  const MadeRun run{.scores = {{"zoom", {{2, 0.5}}}}};
  run.WriteIn(runs_ / "run");
  const auto evaluated = [&](int step, double value) {
    WriteText(runs_ / "run/eval.json", json{{"step", step}, {"tasks", {{"zoom", run.Score(value)}}}}.dump());
    return OnlyOne().scores.at("zoom");
  };
  EXPECT_DOUBLE_EQ(evaluated(3, 0.4).last, 0.4);
  EXPECT_EQ(evaluated(3, 0.4).best_step, 2);
  EXPECT_DOUBLE_EQ(evaluated(1, 0.8).last, 0.5);
}

TEST_F(RunsBelowTest, KnowHowFarOneIsThatIsWrittenJustNow) {
  MadeRun{.steps = 2, .ends = 9}.WriteIn(runs_ / "run");
  WriteText(runs_ / "run/metrics.jsonl", ReadText(runs_ / "run/metrics.jsonl") + R"({"step": 3, "ter)");
  const RunFacts facts = OnlyOne();
  EXPECT_EQ(facts.problem, "");
  EXPECT_EQ(facts.step, 2);
  EXPECT_EQ(facts.ends, 9);
  EXPECT_DOUBLE_EQ(facts.seconds, 4);
}

TEST_F(RunsBelowTest, AreEachALineAlsoWhereOneIsBroken) {
  MadeRun{.ended = {{"step", 3}, {"how", "ended"}, {"why", "done"}}}.WriteIn(runs_ / "a");
  MadeRun{}.WriteIn(runs_ / "b");
  WriteText(runs_ / "b/config.resolved.json", "{");
  MadeRun{}.WriteIn(runs_ / "c");
  fs::remove(runs_ / "c/config.resolved.json");
  WriteText(runs_ / "d/x", "");
  const std::vector<RunSummary> runs = RunsBelow({runs_});
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[0].state.status, RunStatus::kEnded);
  EXPECT_EQ(runs[1].state.status, RunStatus::kUnknown);
  EXPECT_TRUE(Has(runs[1].state.why, "config.resolved.json is damaged")) << runs[1].state.why;
  EXPECT_TRUE(Has(runs[2].state.why, "holds no run")) << runs[2].state.why;
}

// What one lacks is said, and the others of its facts stay.
TEST_F(RunsBelowTest, SayWhatOfThemCannotBeRead) {
  const auto after = [&](const char* file, const std::string& text) {
    MadeRun{.scores = {{"zoom", {{2, 0.5}}}}, .ended = {{"step", 3}, {"how", "ended"}, {"why", "done"}}}
        .WriteIn(runs_ / "run");
    WriteText(runs_ / "run" / file, text);
    const RunState state = RunsBelow({runs_}).at(0).state;
    fs::remove_all(runs_ / "run");
    return state;
  };
  EXPECT_EQ(after("run.json", R"({"starts": [{"ti)").status, RunStatus::kUnknown);
  EXPECT_TRUE(Has(after("run.json", "[1]").why, "run.json is damaged"));
  const RunState garbled = after("metrics.jsonl", "\x01\x02\n{\"step\": 3}\n");
  EXPECT_EQ(garbled.status, RunStatus::kEnded);
  EXPECT_TRUE(Has(garbled.why, "metrics.jsonl has lines that are no steps")) << garbled.why;
  const RunState unscored = after("eval.json", "{\"step\": 3, \"tasks\": {\"zoom\": 7}}");
  EXPECT_EQ(unscored.status, RunStatus::kEnded);
  EXPECT_FALSE(unscored.why.empty());
  EXPECT_EQ(after("eval.json", "{").status, RunStatus::kEnded);
}

// Else one run's log would be read for ever, and no other one listed.
TEST_F(RunsBelowTest, ReadPlainFilesAlone) {
  MadeRun{}.WriteIn(runs_ / "run");
  for (const char* log : {"metrics.jsonl", "timing.jsonl"}) {
    fs::remove(runs_ / "run" / log);
    fs::create_symlink("/dev/zero", runs_ / "run" / log);
    EXPECT_TRUE(Has(RunsBelow({runs_}).at(0).state.why, "is no plain file")) << log;
  }
}

TEST_F(RunsBelowTest, AreReadAgainOnlyWhereAFileChanged) {
  MadeRun{}.WriteIn(runs_ / "run");
  EXPECT_EQ(OnlyOne().step, 3);
  ChangeWhatIsKept(77);
  EXPECT_EQ(OnlyOne().step, 77) << "it is read from the cache";
  WriteText(runs_ / "run/metrics.jsonl", ReadText(runs_ / "run/metrics.jsonl") + "{\"step\": 4}\n");
  EXPECT_EQ(OnlyOne().step, 4);
  ChangeWhatIsKept(78);
  WriteText(runs_ / "run/config.resolved.1.json", ReadText(runs_ / "run/config.resolved.json"));
  EXPECT_EQ(OnlyOne().step, 4);
  WriteText(cache_, "{\"format\": 1, \"runs\": [4");
  EXPECT_EQ(OnlyOne().step, 4) << "a cache is whatever it is";
  WriteText(cache_, R"({"format": 1, "runs": {")" + (runs_ / "run").string() + R"(": 7}})");
  EXPECT_EQ(OnlyOne().step, 4);
}

TEST_F(RunsBelowTest, OnlyReadTheRunAndGoWithoutACache) {
  MadeRun{}.WriteIn(runs_ / "run");
  std::set<std::string> before, after;
  const auto list = [&](std::set<std::string>& files) {
    for (const auto& entry : fs::recursive_directory_iterator(runs_))
      files.insert(entry.path().string() +
                   std::to_string(entry.last_write_time().time_since_epoch().count()));
  };
  list(before);
  WriteText(scratch_ / "cache", "a file where the folder is to be");
  EXPECT_EQ(OnlyOne().step, 3);
  fs::remove(scratch_ / "cache");
  fs::create_symlink("cache", scratch_ / "cache");
  EXPECT_EQ(OnlyOne().step, 3);
  list(after);
  EXPECT_EQ(before, after);
}

}  // namespace
}  // namespace medley
