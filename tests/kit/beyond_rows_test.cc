// What docs/beyond-rows.md names is run as it says, for some steps.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/plugin/test_files.h"
#include "tests/tools/run_command.h"

namespace medley {
namespace {

using nlohmann::json;
using test::Medley;
using test::Shell;
using testing::WriteBytes;

const std::string kRuns = MEDLEY_SOURCE_DIR "/configs/runs/";

class BeyondRows : public ::testing::Test {
 protected:
  // The lines of metrics.jsonl of a run of the config; `more`: further words of `medley train`.
  std::vector<json> Train(const std::string& config, const std::string& name, const std::string& more = "",
                          const std::string& length = "steps=4 eval.every=4") const {
    const auto trained =
        Shell("XDG_CACHE_HOME=" + Place("cache") + " " + Medley() + "train " + config + " --out " +
              Place(name) + " plan=false threads=1 eval.rows=4 checkpoint.every=2 " + length + " " + more +
              " --plugin-path " MEDLEY_BEYOND_PLUGINS " 2>&1");
    EXPECT_EQ(trained.code, 0) << config << '\n' << trained.out;
    std::vector<json> lines;
    std::ifstream file(work_ / name / "metrics.jsonl");
    for (std::string line; std::getline(file, line);) {
      const json parsed = json::parse(line);
      if (parsed.contains("draws")) lines.push_back(parsed);
    }
    EXPECT_FALSE(lines.empty()) << config;
    return lines;
  }
  void TrainTalk(const std::string& name, const std::string& length) const {
    Train(kRuns + "talk.json", name, "tasks.talk.rows=4 optimizer.warmup_steps=0", length);
  }
  std::string Place(const std::string& name) const { return (work_ / name).string(); }
  static double MeanOf(const json& line, const std::string& task, const std::string& term) {
    return line.at("terms").at(task).at(term).at("mean");
  }

  testing::TempDirectory work_;
};

TEST_F(BeyondRows, ARunThatBeginsFromChatsMeasuresItsPairsFromThem) {
  TrainTalk("talk", "steps=4 eval.every=4");
  const std::vector<json> pairs =
      Train(kRuns + "solver.json", "solver",
            "tasks.solver.rows=4 optimizer.warmup_steps=0 init_from.run=" + Place("talk"));
  EXPECT_NEAR(MeanOf(pairs[0], "solver", "preference"), std::log(2.0), 1e-5);
  EXPECT_NEAR(MeanOf(pairs[0], "solver", "margin"), 0, 1e-5);
  EXPECT_GT(std::abs(MeanOf(pairs.back(), "solver", "margin")), 1e-5) << "it was trained";
}

// Of a run's stages none moves `start`: the second one's first pairs are no longer at ln 2.
TEST_F(BeyondRows, InARunByStagesStartStaysWhatItWasBeforeTheFirst) {
  WriteBytes(work_ / "stages.json", R"({"unit": "steps", "stages": [
    {"name": "chats", "weights": {"talk": 1}, "until": {"steps": 3}},
    {"name": "pairs", "weights": {"solver": 1}}]})");
  const std::vector<json> lines =
      Train(kRuns + "talk-staged.json", "staged",
            "tasks.talk.rows=4 tasks.solver.rows=4 optimizer.warmup_steps=0 weights=" + Place("stages.json"));
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_GT(std::abs(MeanOf(lines[3], "solver", "preference") - std::log(2.0)), 1e-5);
  Train(kRuns + "talk-staged.json", "own", "tasks.talk.rows=4");
}

TEST_F(BeyondRows, ChatsAndPairsStandBesidePicturesOfTheGame) {
  const std::vector<json> lines =
      Train(kRuns + "talk-game.json", "game",
            "tasks.control.rows=2 tasks.arrow_to_gold.rows=2 tasks.imagine_walls_only.rows=2 "
            "tasks.talk.rows=2 tasks.solver.rows=2",
            "steps=8 eval.every=8");
  json trained = json::object();
  for (const json& line : lines) trained.update(line.at("terms"));
  for (const char* task : {"arrow_to_gold", "imagine_walls_only", "talk", "solver"})
    EXPECT_TRUE(trained.contains(task)) << task;
}

TEST_F(BeyondRows, AStudentLearnsFromALongerRun) {
  TrainTalk("long", "steps=6 eval.every=3");
  TrainTalk("short", "steps=2 eval.every=2");
  const std::string teacher = "tasks.student.rows=4 references.teacher.run=" + Place("long");
  const std::vector<json> fresh = Train(kRuns + "student.json", "fresh", teacher);
  EXPECT_GT(MeanOf(fresh[0], "student", "learn"), 1e-5);
  const std::vector<json> adapters =
      Train(kRuns + "student-adapters.json", "adapters", teacher + " init_from.run=" + Place("short"));
  EXPECT_GT(MeanOf(adapters[0], "student", "learn"), 1e-5);
  // Its own file has the teacher.
  std::filesystem::remove_all(work_ / "long");
  const auto resumed = Shell(Medley() + "resume " + Place("adapters") + " --steps 6 2>&1");
  EXPECT_EQ(resumed.code, 0) << resumed.out;
}

TEST_F(BeyondRows, AnAverageFollowsWhatItTeaches) {
  const std::vector<json> lines =
      Train(kRuns + "student-average.json", "average", "tasks.student.rows=4 optimizer.warmup_steps=0");
  EXPECT_NEAR(MeanOf(lines[0], "student", "learn"), 0, 1e-4) << "both are the first weights";
  EXPECT_GT(MeanOf(lines.back(), "student", "learn"), 1e-5);
}

TEST_F(BeyondRows, ATaskThatTriesIsHeldByWhatItWas) {
  const std::vector<json> lines =
      Train(kRuns + "plugin.json", "bandit",
            "optimizer.warmup_steps=0 weights=" MEDLEY_SOURCE_DIR "/plugins/bandit/weights.json",
            "steps=30 eval.every=30");
  EXPECT_NEAR(MeanOf(lines[0], "bandit", "leash"), 0, 1e-5);
  EXPECT_GT(MeanOf(lines.back(), "bandit", "leash"), 1e-5);
}

TEST_F(BeyondRows, BothPluginsAreFoundRight) {
  const std::string check = "XDG_CACHE_HOME=" + Place("cache") + " " + Medley() + "plugins check ";
  const auto bandit =
      Shell(check + MEDLEY_BEYOND_PLUGINS "/bandit.so --config " + kRuns + "plugin.json 2>&1");
  EXPECT_EQ(bandit.code, 0) << bandit.out;
  const auto student =
      Shell(check + MEDLEY_BEYOND_PLUGINS "/student.so --config " + kRuns + "student-average.json 2>&1");
  EXPECT_EQ(student.code, 0) << student.out;
}

}  // namespace
}  // namespace medley
