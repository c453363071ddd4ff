// A run's report: as text, as a page, and as the picture that README shows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include <medley/data/picture_file.h>
#include <medley/page/run_data.h>
#include <medley/report/screen.h>
#include <medley/report/table.h>

#include "tests/report/scratch_directory.h"
#include "tests/tools/background.h"
#include "tests/tools/edited_runs.h"
#include "tests/tools/run_command.h"
#include "tests/tools/small_runs.h"

namespace medley::test {
namespace {

namespace fs = std::filesystem;

class ReportCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    WriteText(scratch_ / "weights.json", kStagedWeights);
    const CommandResult trained =
        Shell(Medley() + "train " MEDLEY_SOURCE_DIR "/configs/runs/quickstart.json --out " + run_.string() +
              " steps=12 " + kStaged + (scratch_ / "weights.json").string() + " 2>&1");
    ASSERT_EQ(trained.code, 0) << trained.out;
  }
  ScratchDirectory scratch_;
  fs::path run_ = scratch_ / "run";
};

TEST_F(ReportCommand, FitsAnyScreenAndWideShowsAllColumns) {
  const auto report = [&](const std::string& columns, const std::string& more = "") {
    return Shell("COLUMNS=" + columns + " " + Medley() + "report " + run_.string() + more + " 2>&1");
  };
  for (const char* columns : {"", "80", "120"}) {
    const CommandResult shown = report(columns);
    EXPECT_EQ(shown.code, 0) << shown.out;
    const std::size_t most = *columns == '\0' ? 100 : std::stoul(columns);
    std::istringstream lines(shown.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(TextWidth(line), most) << line;
    for (const char* words : {"task", "asked", "delivered", "predicted", "arrow_to_gold", "stage 2, b"})
      EXPECT_TRUE(Has(shown.out, words)) << words << "\n" << shown.out;
  }
  EXPECT_TRUE(Has(report("80").out, "--wide shows all)"));
  const CommandResult wide = report("80", " --wide");
  EXPECT_FALSE(Has(wide.out, "--wide")) << wide.out;
  EXPECT_TRUE(Has(wide.out, "tokens run") && Has(wide.out, "forwards")) << wide.out;
}

TEST_F(ReportCommand, BeginsWithHowFarTheRunIsAndItsLastScores) {
  const auto report = [&] { return Shell(Medley() + "report " + run_.string() + " --wide 2>&1").out; };
  const std::string unscored = report();
  EXPECT_TRUE(unscored.starts_with("run is done after 12 steps in ")) << unscored;
  EXPECT_TRUE(Has(unscored, ": its last stage is over\n")) << unscored;
  EXPECT_FALSE(Has(unscored, "scores")) << unscored;
  ASSERT_EQ(Shell(Medley() + "eval " + run_.string() + " --rows 4 2>&1").code, 0);
  const std::string scored = report();
  for (const char* words : {"scores after step 12: ", "clear of all that needs", "best without learning",
                            "region_error", "mean target"})
    EXPECT_TRUE(Has(scored, words)) << words << "\n" << scored;

  WriteText(run_ / "run.json", "{}");
  EXPECT_TRUE(
      Has(Shell(Medley() + "report " + run_.string() + "/ 2>&1").out, "run is done after 12 steps in "))
      << "as its config says";
  std::string config = ReadText(run_ / "config.resolved.json");
  const std::string steps = "\"steps\": 12";
  ASSERT_TRUE(Has(config, steps));
  WriteText(run_ / "config.resolved.json", config.replace(config.find(steps), steps.size(), "\"steps\": 99"));
  EXPECT_TRUE(report().starts_with("run has done 12 of 99 steps in ")) << report();
}

// While a ramp goes on, whose draws ask for other shares each, and after it: train's last table, the report
// and the page have what was asked while it was.
TEST(SharesOfARun, AreOneFigureWhereverTheyAreShown) {
  const ScratchDirectory scratch;
  const fs::path run = scratch / "run";
  WriteText(scratch / "weights.json", kStagedWeights);
  const std::string begin = "train " MEDLEY_SOURCE_DIR "/configs/runs/quickstart.json --out " + run.string() +
                            " plan=false steps=6 " + kStaged + (scratch / "weights.json").string();
  for (const std::string& words : {begin, "resume " + run.string() + " --steps 8"}) {
    const CommandResult trained = Shell(Medley() + words + " --wide 2>&1");
    ASSERT_EQ(trained.code, 0) << trained.out;
    const auto receipt = nlohmann::json::parse(ReadText(run / "receipt.json"));
    const std::string report = Shell(Medley() + "report " + run.string() + " --wide 2>&1").out;
    const auto mixture = nlohmann::json::parse(RunData(run)["mixture"].dump());
    const std::string table = trained.out.substr(trained.out.find("\nafter step "));
    double worst = 0;
    for (const auto& [task, account] : receipt.at("stages").back().at("tasks").items()) {
      const double asked = account.at("asked"), delivered = account.at("delivered");
      worst = std::max(worst, std::abs(asked - delivered));
      const std::regex shares(task + " .* " + FormatShare(asked) + " +" + FormatShare(delivered) + " ");
      EXPECT_TRUE(std::regex_search(table, shares)) << account << "\n" << table;
      EXPECT_TRUE(std::regex_search(report, shares)) << account << "\n" << report;
      EXPECT_NEAR(mixture.at("delivered").at(task).back().get<double>(), delivered, 1e-5) << words;
      EXPECT_NEAR(mixture.at("asked").at(task).back().get<double>(), asked, 1e-5) << words;
    }
    EXPECT_GT(worst, 0);
    EXPECT_TRUE(Has(report, "shares of rows, ")) << report;
    EXPECT_TRUE(Has(ReadText(run / "log.txt"), "largest share error " + FormatShare(worst))) << trained.out;
    EXPECT_TRUE(Has(table, "(asked and delivered: of rows, in stage b)")) << table;
  }
}

// Before its first save and its first evaluation, while it is being written.
TEST(ReportOfARunUnderWay, TellsTaskLossSharesAndTimeLeft) {
  const ScratchDirectory scratch;
  const fs::path run = scratch / "run";
  WriteText(scratch / "weights.json", kEditedWeights);
  Background train(Medley() + "train " MEDLEY_SOURCE_DIR "/configs/runs/quickstart.json --out " +
                       run.string() + " " + kEdited + (scratch / "weights.json").string() +
                       " plan=false steps=1000000 checkpoint.every=1000000",
                   scratch / "words.txt");
  ASSERT_TRUE(train.WaitUntil([&] { return StepsOf(run) > 8; })) << train.words();
  for (const char* columns : {"80", "120"}) {
    const CommandResult shown =
        Shell(std::string("COLUMNS=") + columns + " " + Medley() + "report " + run.string() + " 2>&1");
    EXPECT_EQ(shown.code, 0) << shown.out;
    std::istringstream lines(shown.out);
    for (std::string line; std::getline(lines, line);)
      EXPECT_LE(TextWidth(line), std::stoul(columns)) << line;
    for (const char* words :
         {"run has done ", " of 1000000 steps in ", " left\n", "tasks now: loss, smoothed; shares of steps",
          "loss", "asked", "delivered", "score", "value", "control ", "25.0 %", "75.0 %",
          "What its steps took stands here once it has saved."})
      EXPECT_TRUE(Has(shown.out, words)) << words << "\n" << shown.out;
    EXPECT_FALSE(Has(shown.out, "0 draws")) << shown.out;
  }
  const auto json = nlohmann::json::parse(Shell(Medley() + "report " + run.string() + " --json").out);
  for (const char* task : {"control", "zoom_gold"}) {
    const auto& now = json.at("now").at("tasks").at(task);
    EXPECT_GT(now.at("loss").get<double>(), 0);
    EXPECT_GT(now.at("delivered").get<double>(), 0);
    EXPECT_GT(now.at("draws").get<int>(), 0);
  }
  EXPECT_EQ(json.at("stages").size(), 0u) << "of what was saved";
  train.Interrupt();
  EXPECT_EQ(train.Wait(), 130) << train.words();
}

// It ends between two sections, where nothing but the ground is.
TEST_F(ReportCommand, IsDrawnAsAPictureThatIsNeverCutThrough) {
  if (Shell("command -v chromium-headless-shell || command -v chromium").code != 0)
    GTEST_SKIP() << "no Chromium is here: tools/setup --tests";
  const std::string script = MEDLEY_SOURCE_DIR "/tools/report-picture ";
  const fs::path file = scratch_ / "page.png";
  const std::string command = script + run_.string() + " " + file.string();
  std::int64_t before = 0;
  for (const std::string most : {" 1200", ""}) {
    const CommandResult drawn = Shell(command + most + " 2>&1");
    ASSERT_EQ(drawn.code, 0) << drawn.out;
    const Picture picture = ReadPicture(file);
    EXPECT_EQ(picture.width, 1280);
    EXPECT_LE(picture.height, most.empty() ? 8192 : std::stoi(most));
    EXPECT_GT(picture.height, before);
    before = picture.height;
    const std::set<int> last_row(picture.pixels.end() - 3 * picture.width, picture.pixels.end());
    EXPECT_EQ(last_row, std::set<int>{255}) << "it is cut at row " << picture.height;
    const auto dark = std::count_if(picture.pixels.begin(), picture.pixels.end(),
                                    [](std::uint8_t byte) { return byte < 100; });
    EXPECT_GT(dark, 3000) << "words and curves";
  }
  fs::remove(file);
  const CommandResult refused = Shell(command + " 100 2>&1");
  EXPECT_EQ(refused.code, 2);
  EXPECT_TRUE(Has(refused.out, "no section of the page is whole within 100 pixels")) << refused.out;
  EXPECT_FALSE(fs::exists(file));
  EXPECT_EQ(Shell(script + (scratch_ / "nothing").string() + " a.png 2>&1").code, 2);
}

}  // namespace
}  // namespace medley::test
