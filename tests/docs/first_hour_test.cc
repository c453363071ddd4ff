// docs/first-hour.md, followed by a newcomer: every block of it in its order, in a folder that stands for the
// clone.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/plugin/test_files.h"
#include "tests/report/scratch_directory.h"
#include "tests/tools/run_command.h"

namespace medley {
namespace {

namespace fs = std::filesystem;

// A block of code in a page: "```LANGUAGE file=PATH".
struct PageBlock {
  std::string language, file, text;
};

std::vector<PageBlock> BlocksOf(const std::string& page) {
  std::vector<PageBlock> blocks;
  std::istringstream lines(page);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) {
      inside = !inside;
      if (!inside) continue;
      const std::size_t file = line.find(" file=");
      blocks.push_back({.language = line.substr(3, line.find(' ') - 3),
                        .file = file == std::string::npos ? "" : line.substr(file + 6),
                        .text = ""});
    } else if (inside) {
      blocks.back().text += line + "\n";
    }
  }
  return blocks;
}

class FirstHour : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(clone_ / "build");
    fs::create_directory_symlink(MEDLEY_BUILD_DIR, clone_ / "build/release");
    fs::copy(MEDLEY_SOURCE_DIR "/configs", clone_ / "configs", fs::copy_options::recursive);
  }
  // As in the shell of the block before: where it was, with what it exported. Nothing that is built is waited
  // for, so it is not optimized.
  test::CommandResult Run(const std::string& commands) {
    const std::string state = (clone_ / "shell").string();
    return test::Shell("{ set -e; cd " + clone_.path().string() +
                       "; export XDG_STATE_HOME=$PWD/state XDG_CACHE_HOME=$PWD/cache " +
                       "CMAKE_BUILD_TYPE=Unoptimized CMAKE_GENERATOR=Ninja; [ ! -e " + state + " ] || . " +
                       state + "\n" + commands + "\nexport -p >" + state + "; echo cd $PWD >>" + state +
                       "; } 2>&1");
  }
  // The tasks that a run trained in its last steps, one draw each.
  std::vector<std::string> LastTasks(const std::string& run, std::size_t steps) const {
    std::istringstream lines(ReadText(clone_ / ("runs/" + run + "/metrics.jsonl")));
    std::vector<std::string> tasks;
    for (std::string line; std::getline(lines, line);)
      tasks.push_back(nlohmann::json::parse(line).at("draws").at(0).at("task"));
    return {tasks.end() - static_cast<std::ptrdiff_t>(std::min(steps, tasks.size())), tasks.end()};
  }
  // Of a task, in what `medley eval` wrote into a run.
  double Score(const std::string& run, const std::string& task) const {
    const auto scores = nlohmann::json::parse(ReadText(clone_ / ("runs/" + run + "/eval.json")));
    return scores.at("tasks").at(task).at("value");
  }

  testing::TempDirectory clone_;
};

TEST_F(FirstHour, EveryCommandDoesWhatThePageSays) {
  int followed = 0;
  for (const PageBlock& block : BlocksOf(ReadText(MEDLEY_SOURCE_DIR "/docs/first-hour.md"))) {
    if (!block.file.empty()) {
      testing::WriteBytes(clone_ / block.file, block.text);
    } else {
      ASSERT_EQ(block.language, "sh") << block.text;
      const test::CommandResult done = Run(block.text);
      ASSERT_EQ(done.code, 0) << block.text << done.out;
      ++followed;
    }
  }
  EXPECT_GE(followed, 8);
  EXPECT_EQ(LastTasks("first", 1000).size(), 280U);
  const std::vector<std::string> last = LastTasks("first", 112);
  EXPECT_EQ(std::count(last.begin(), last.end(), "zoom_gold"), 84);
  EXPECT_LT(Score("first", "control"), 0.15);  // the mean image
  EXPECT_LT(Score("first", "zoom_gold"), 0.2);
  EXPECT_GT(Score("larger/run", "larger"), 0.9);
  for (const char* made : {"hour/sample.png", "first/sheet-zoom_gold.png", "first.html", "hour/drawn.png"})
    EXPECT_GT(fs::file_size(clone_.path() / "runs" / made), 1000U) << made;
}

}  // namespace
}  // namespace medley
