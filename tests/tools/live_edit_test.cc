// That the weights file of a run that goes on may be edited with anything: tests/session/live_edit_test.cc
// has what becomes of the run.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <thread>

#include <medley/base/files.h>

#include "tests/tools/background.h"
#include "tests/tools/edited_runs.h"
#include "tests/tools/run_command.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using test::Background;
using test::CommandResult;
using test::Has;
using test::Medley;
using test::Shell;
using test::StepsOf;
using Cause = WeightEntry::Cause;

class LiveEdit : public ::testing::Test {
 protected:
  LiveEdit() { WriteText(scratch_ / "template.json", test::kEditedWeights); }

  std::string TrainLine(const std::string& more) const {
    return Medley() + "train " MEDLEY_SOURCE_DIR "/configs/runs/quickstart.json --out " + run().string() +
           " " + test::kEdited + (scratch_ / "template.json").string() + " " + more;
  }
  // Goes on until it is interrupted.
  Background Train(const std::string& more = "plan=false steps=1000000") const {
    return Background(TrainLine(more), scratch_ / "words.txt");
  }
  fs::path run() const { return scratch_ / "run"; }
  fs::path weights() const { return run() / kRunWeights; }
  // The newest edit has this in its text, and the run went on with it.
  bool TookOver(const Background& train, const std::string& part) const {
    const bool logged = train.WaitUntil([&] {
      const auto edits = test::EntriesOf(run(), Cause::kEdit);
      return !edits.empty() && Has(edits.back().text, part);
    });
    return logged && GoesOn(train);
  }
  bool GoesOn(const Background& train) const {
    const std::int64_t step = StepsOf(run());
    return train.WaitUntil([&] { return StepsOf(run()) > step; });
  }
  bool HasBegun(const Background& train) const {
    return train.WaitUntil([&] { return StepsOf(run()) > 3; });
  }

  ScratchDirectory scratch_;
};

TEST_F(LiveEdit, EveryWayToSaveAFileWorks) {
  Background train = Train();
  ASSERT_TRUE(HasBegun(train)) << train.words();
  EXPECT_TRUE(Has(train.words(), "its weights are a copy, " + weights().string())) << train.words();
  EXPECT_EQ(ReadText(weights()), std::string(test::kEditedWeights)
                                     .replace(std::string(test::kEditedWeights).find("schema/"), 7,
                                              (scratch_ / "schema/").string()));
  const std::string file = weights().string();

  ASSERT_EQ(Shell("sed -i 's/\"control\": 1/\"control\": 2/' " + file).code, 0);
  EXPECT_TRUE(TookOver(train, "\"control\": 2"));
  EXPECT_TRUE(Has(train.words(), "control 1 -> 2 (25 % -> 40 %); so zoom_gold 75 % -> 60 %"))
      << train.words();

  const CommandResult vim = Shell(
      "vim=$(command -v vim || command -v vim.tiny) && $vim -u NONE -es "
      "-c '%s/\"control\": 2/\"control\": 4/' -c wq " +
      file + " </dev/null 2>&1");
  ASSERT_EQ(vim.code, 0) << vim.out;
  EXPECT_TRUE(TookOver(train, "\"control\": 4"));

  // A file that is wrong for a second is refused; it is where this process is kept waiting.
  bool is_quick = true;
  const auto quickly = [&is_quick](const auto& write) {
    const auto begin = std::chrono::steady_clock::now();
    write();
    is_quick = is_quick && std::chrono::steady_clock::now() - begin < milliseconds(900);
  };
  const std::string text = test::EditedWeights("5"), half = text.substr(0, text.size() / 2);
  quickly([&] {
    WriteText(weights(), "");
    std::this_thread::sleep_for(milliseconds(250));
    std::ofstream(weights(), std::ios::app) << half;
    std::this_thread::sleep_for(milliseconds(250));
    std::ofstream(weights(), std::ios::app) << text.substr(half.size());
  });
  EXPECT_TRUE(TookOver(train, "\"control\": 5"));

  WriteText(scratch_ / "other.json", test::EditedWeights("6"));
  fs::rename(scratch_ / "other.json", weights());
  EXPECT_TRUE(TookOver(train, "\"control\": 6"));

  for (const char* control : {"7", "8", "9", "10", "11"}) {
    WriteText(weights(), test::EditedWeights(control));
    std::this_thread::sleep_for(milliseconds(150));
  }
  EXPECT_TRUE(TookOver(train, "\"control\": 11"));

  quickly([&] {
    fs::remove(weights());
    std::this_thread::sleep_for(milliseconds(300));
    WriteText(weights(), test::EditedWeights("12"));
  });
  EXPECT_TRUE(TookOver(train, "\"control\": 12"));

  EXPECT_TRUE(!is_quick || test::EntriesOf(run(), Cause::kRefusedEdit).empty());
  train.Interrupt();
  EXPECT_EQ(train.Wait(), 130) << train.words();
}

}  // namespace
}  // namespace medley
