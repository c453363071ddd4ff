// What the command prints for people, at the widths of a terminal and of a pipe.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <medley/report/screen.h>

#include "tests/report/scratch_directory.h"
#include "tests/tools/run_command.h"
#include "tests/tools/small_runs.h"

namespace medley::test {
namespace {

namespace fs = std::filesystem;

const std::string kConfig = MEDLEY_SOURCE_DIR "/configs/runs/quickstart.json";

// A path is one word, as long as the folders that somebody has: alone in a line or in its column it may be
// wider than the screen.
bool EndsInAPathOfItsOwn(const std::string& line) {
  const size_t begin = line.find_last_of(' ') + 1;
  return line.find('/', begin) != std::string::npos && (begin < 2 || line[begin - 2] == ' ');
}

class Screens : public ::testing::Test {
 protected:
  void SetUp() override {
    WriteText(scratch_ / "weights.json", kStagedWeights);
    const CommandResult trained =
        Shell(Medley() + "train " + kConfig + " --out " + run_.string() + " steps=12 " + kStaged +
              (scratch_ / "weights.json").string() + " 2>&1");
    ASSERT_EQ(trained.code, 0) << trained.out;
  }
  ScratchDirectory scratch_;
  fs::path run_ = scratch_ / "run";
};

TEST_F(Screens, OfEveryVerbAreNoWiderThanATerminalOrAPage) {
  const std::string one = kConfig + " weights=" MEDLEY_SOURCE_DIR "/configs/weights/control.json";
  const std::vector<std::string> verbs = {
      "eval run --rows 4",
      "report run",
      "estimate " + kConfig + " --gpu L4",
      "estimate " + one + " --gpu L4 --all",
      "estimate " + one,
      "estimate " + one + " --gpus all",
      "plan " + one + " budget=1GiB threads=1 --out planned",  // measured once
      "validate " + kConfig,
      "tasks position_qa",
      "tasks",
      "models agent",
      "inspect run",
      "weights history run",
      "version",
      "train --help",
  };
  for (const std::string& verb : verbs) {
    for (const std::string& columns : {std::string(), std::string("80")}) {
      const CommandResult shown = Shell("cd " + scratch_.path().string() + " && COLUMNS=" + columns + " " +
                                        Medley() + verb + " 2>/dev/null");
      EXPECT_EQ(shown.code, 0) << verb << "\n" << shown.out;
      std::istringstream lines(shown.out);
      for (std::string line; std::getline(lines, line);) {
        EXPECT_TRUE(EndsInAPathOfItsOwn(line) || TextWidth(line) <= (columns.empty() ? 100u : 80u))
            << verb << ": " << line;
      }
    }
  }
}

// A mistake that is told in more words than a line has.
TEST_F(Screens, OfATerminalHaveErrorsInLinesAndAPipeHasThemInOne) {
  const std::string wrong = Medley() + "train " + kConfig + " steps=-7 --out " + (scratch_ / "b").string();
  const CommandResult piped = Shell(wrong + " 2>&1");
  EXPECT_EQ(piped.code, 2) << piped.out;
  const CommandResult shown = Shell("COLUMNS=40 script -qec '" + wrong + "' /dev/null </dev/null");
  std::istringstream lines(shown.out);
  for (std::string line; std::getline(lines, line);)
    EXPECT_TRUE(TextWidth(line) <= 41 || line.find(' ') == std::string::npos) << line;
  EXPECT_TRUE(Has(piped.out, "steps")) << piped.out;
}

TEST_F(Screens, APageThatFollowsARunEndsWithItAndIsLeftAsItIs) {
  const fs::path page = scratch_ / "page.html";
  const std::string follow = " report " + run_.string() + " --live 1 --html " + page.string() + " 2>&1";
  const CommandResult over = Shell("timeout 60 " + Medley() + follow);
  EXPECT_EQ(over.code, 0) << over.out;
  EXPECT_TRUE(Has(ReadText(page), "refresh = +\"0\"")) << "the run is over";

  std::string config = ReadText(run_ / "config.resolved.json");
  const std::string steps = "\"steps\": 12";
  ASSERT_TRUE(Has(config, steps));
  WriteText(run_ / "config.resolved.json", config.replace(config.find(steps), steps.size(), "\"steps\": 99"));
  WriteText(run_ / "run.json", "{}");  // where its end is noted
  fs::remove(page);
  const CommandResult cut =
      Shell(Medley() + follow + " & until [ -s " + page.string() + " ]; do sleep .1; done; cp " +
            page.string() + " " + (scratch_ / "meanwhile.html").string() + "; kill -TERM $!; wait $!");
  EXPECT_EQ(cut.code, 0) << cut.out;
  EXPECT_TRUE(Has(ReadText(scratch_ / "meanwhile.html"), "refresh = +\"1\""));
  EXPECT_TRUE(Has(ReadText(page), "refresh = +\"0\"")) << "nobody writes it any more";
}

}  // namespace
}  // namespace medley::test
