#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/checkpoint/run_lock.h>
#include <medley/report/screen.h>
#include <medley/runs/group_report.h>
#include <medley/runs/groups.h>
#include <medley/runs/groups_page.h>
#include <medley/runs/sweep_record.h>

#include "tests/report/scratch_directory.h"
#include "tests/runs/made_group.h"
#include "tests/runs/made_run.h"
#include "tests/words.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using test::Has;
using test::MadeGroup;
using test::MadeGroupRun;
using test::MadeRun;
using test::WithRate;

const nlohmann::json kEnded = {{"step", 3}, {"how", "ended"}, {"why", "all its steps are done"}};

MadeRun Scored(std::int64_t seed, double value) {
  return {.scores = {{"zoom", {{3, value}}}}, .config = {{"seed", seed}}, .ended = kEnded};
}

class Groups : public ::testing::Test {
 protected:
  void Write(const std::string& name, std::int64_t seed) { Scored(seed, .5).WriteIn(group_ / name); }
  std::string Told() const {
    std::string text;
    for (const std::string& line : ReadGroup(group_).told) text += line + "\n";
    return text;
  }
  ScratchDirectory scratch_;
  fs::path group_ = scratch_ / "learning_rate=0.1";
};

TEST_F(Groups, AreTheRunsInAFolderByTheirSeeds) {
  Write("seed-2", 2);
  Write("seed-10", 10);
  Write("mine", 1);
  fs::create_directories(group_ / "notes");
  const RunGroup group = ReadGroup(group_ / "");
  EXPECT_EQ(group.name, "learning_rate=0.1");
  ASSERT_EQ(group.runs.size(), 3u);
  EXPECT_EQ(group.runs[0].seed, 1);
  EXPECT_EQ(group.runs[2].seed, 10);
  EXPECT_EQ(group.runs[2].scores.at("zoom").score.score.value, .5);
  EXPECT_EQ(Told(), "");
  const RunGroup alone = ReadGroup(group_ / "seed-2");
  EXPECT_EQ(alone.name, "seed-2");
  EXPECT_EQ(alone.runs.size(), 1u);
  std::vector<RunGroup> same;
  for (const char* run : {"seed-2", "seed-2", "mine"}) same.push_back(ReadGroup(group_ / run));
  const GroupComparison compared = CompareGroups(same);
  EXPECT_TRUE(compared.groups[0].name.ends_with("learning_rate=0.1/seed-2")) << compared.groups[0].name;
  EXPECT_EQ(compared.groups[2].name, "mine");
}

TEST_F(Groups, LeaveOutWhatCannotBeReadOrIsNotOverAndSayIt) {
  Write("seed-1", 1);
  Write("seed-2", 2);
  WriteText(group_ / "seed-2/config.resolved.json", "{");
  Write("seed-3", 3);
  fs::remove(group_ / "seed-3/metrics.jsonl");
  MadeRun failed = Scored(4, .5);
  failed.ended = {{"step", 2}, {"how", "failed"}, {"why", "no memory \x1b[2J"}};
  failed.ends = 9;
  failed.WriteIn(group_ / "seed-4");
  fs::create_directories(group_ / "seed-5");
  Write("seed-6", 1);
  MadeRun now = Scored(7, .5);
  now.ended = nullptr;
  now.WriteIn(group_ / "seed-7");
  fs::remove(group_ / "seed-7/run.lock");
  const RunLock lock(group_ / "seed-7");
  const RunGroup group = ReadGroup(group_);
  ASSERT_EQ(group.runs.size(), 1u);
  const std::string told = Told();
  EXPECT_EQ(group.told.size(), 6u) << told;
  for (const char* words : {"seed-2/config.resolved.json", "seed-3 was not scored", "(failed: no memory ",
                            "seed-5, which has not begun", "seed-6, as another run has its seed, 1",
                            "seed-7, which is not over (training on"})
    EXPECT_TRUE(Has(told, words)) << words << "\n" << told;
  EXPECT_FALSE(Has(told, "\x1b")) << told;
}

// An older medley noted no end.
TEST_F(Groups, ARunThatTookAllItsStepsIsOverWithoutANote) {
  MadeRun run = Scored(1, .5);
  run.ended = nullptr;
  run.WriteIn(group_ / "seed-1");
  EXPECT_EQ(ReadGroup(group_).runs.size(), 1u) << Told();
}

TEST_F(Groups, ARunThatIsNamedIsTakenBeforeItsEndAndThatIsTold) {
  MadeRun run = Scored(1, .5);
  run.ended = {{"step", 3}, {"how", "stopped"}, {"why", "interrupted"}};
  run.ends = 9;
  run.WriteIn(group_);
  const RunGroup group = ReadGroup(group_);
  EXPECT_EQ(group.runs.size(), 1u);
  EXPECT_TRUE(Has(Told(), "is not over (stopped: interrupted): its scores are those after step 3")) << Told();
}

TEST_F(Groups, AWholeSweepIsRefusedWithTheCommandThatCompares) {
  for (const char* rate : {"rate=1", "rate=2"}) Scored(1, .5).WriteIn(group_ / rate / "seed-1");
  try {
    ReadGroup(group_);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_TRUE(Has(error.what(), "rate=1 --against ")) << error.what();
    EXPECT_TRUE(Has(error.what(), "medley report ")) << error.what();
  }
  EXPECT_THROW(ReadGroup(scratch_ / "nothing"), InputError);
  fs::create_directories(scratch_ / "empty");
  EXPECT_THROW(ReadGroup(scratch_ / "empty"), InputError);
}

TEST_F(Groups, OfASweepComeInItsOrderAlsoWhereNothingHasBegun) {
  Scored(1, .5).WriteIn(group_ / "rate=1/seed-1");
  Scored(1, .7).WriteIn(group_ / "rate=10/seed-1");
  EXPECT_TRUE(ReadGroupsOfSweep(group_).empty()) << "no sweep's";
  WriteSweep(group_, {.command = "medley sweep",
                      .config = "/run.json",
                      .keys = {{.key = "rate", .values = {"10", "1", "5"}}},
                      .seeds = {1},
                      .groups = {{.values = {"10"}, .folder = "rate=10"},
                                 {.values = {"1"}, .folder = "rate=1"},
                                 {.values = {"5"}, .folder = "rate=5"}}});
  const std::vector<RunGroup> groups = ReadGroupsOfSweep(group_);
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0].name, "rate=10");
  EXPECT_EQ(groups[1].runs.at(0).scores.at("zoom").score.score.value, .5);
  EXPECT_TRUE(groups[2].runs.empty());
  const GroupComparison compared = CompareGroups(groups);
  EXPECT_TRUE(Has(compared.before.at(0), "C: no run of it is left")) << compared.before[0];
}

std::vector<RunGroup> ManyGroups(int groups, int tasks) {
  std::vector<RunGroup> many;
  for (int i = 0; i < groups; ++i) {
    RunGroup& group = many.emplace_back(RunGroup{.name = "optimizer.learning_rate=0.00" + std::to_string(i)});
    for (int seed = 1; seed <= 3; ++seed) {
      std::map<std::string, double> scores;
      for (int task = 0; task < tasks; ++task)
        scores["imagine_after_move_" + std::to_string(task)] =
            .3 + .05 * i * (task % 3 - 1) + .01 * ((seed * 7 + task * 3 + i) % 5);
      group.runs.push_back(MadeGroupRun(seed, scores, WithRate(i)));
    }
  }
  return many;
}

class GroupScreens : public ::testing::Test {
 protected:
  GroupScreens() { ::setenv("COLUMNS", "80", 1); }
  ~GroupScreens() override { ::unsetenv("COLUMNS"); }
};

TEST_F(GroupScreens, HoldTwentyTwoTasksOfNineGroupsInEightyColumns) {
  const std::string words = GroupsWords(CompareGroups(ManyGroups(9, 22)));
  std::istringstream lines(words);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(TextWidth(line), 80u) << line;
  EXPECT_TRUE(Has(words, "I - A")) << words;
  EXPECT_TRUE(Has(words, "better")) << words;
  EXPECT_TRUE(Has(words, "worse")) << words;
  EXPECT_FALSE(Has(words, "no room for")) << words;
}

TEST_F(GroupScreens, SayWhatMustBeReadFirstBeforeAnyNumber) {
  nlohmann::ordered_json other = WithRate(1);
  other["eval"] = {{"seed", 7}};
  std::vector<RunGroup> groups;
  groups.push_back(MadeGroup("a", {.1, .2, .3}));
  groups.push_back(MadeGroup("b", {.7, .8, .91}, other));
  const std::string words = GroupsWords(CompareGroups(groups));
  EXPECT_TRUE(words.starts_with("B (seed 1) is scored on other rows than A")) << words;
}

TEST_F(GroupScreens, OfSeedsAloneHaveNoDifferences) {
  std::vector<RunGroup> groups;
  groups.push_back(MadeGroup("sweep", {.1, .2, .3}));
  const std::string words = GroupsWords(CompareGroups(groups));
  EXPECT_TRUE(Has(words, "0.20 ± 0.25")) << words;
  EXPECT_FALSE(Has(words, "differences")) << words;
}

TEST(GroupPages, HoldAllThatTheyNeedAndNothingOfANameEndsTheirScript) {
  std::vector<RunGroup> groups;
  groups.push_back(MadeGroup("</script><b>", {.1, .2, .3}));
  groups.push_back(MadeGroup("b", {.7, .8, .91}, WithRate(1)));
  const std::string page = GroupsPage(CompareGroups(groups));
  EXPECT_FALSE(Has(page, "</script><b>"));
  EXPECT_TRUE(Has(page, "\\u003c/script>"));
  EXPECT_TRUE(Has(page, "prefers-color-scheme: dark"));
  for (const char* outside : {"src=", "href=\"http", "url(", "@import", "/* page.css */", "/* parts.js */"})
    EXPECT_FALSE(Has(page, outside)) << outside;
}

}  // namespace
}  // namespace medley
