// A file of a run that a newer medley wrote: it is refused with what to do, and nothing is set aside, lost or
// written anew for it.
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include <medley/curriculum/weight_log.h>
#include <medley/run/run.h>

#include "tests/checkpoint/forged_checkpoint.h"
#include "tests/session/session_runs.h"
#include "tests/tools/run_command.h"
#include "tests/tools/small_runs.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using test::Ended;
using test::Has;
using testing_fixture::ForgeFormat;
using testing_fixture::ForgeState;

void Edit(const fs::path& file, const std::function<void(ordered_json&)>& edit) {
  auto json = ordered_json::parse(ReadText(file));
  edit(json);
  WriteText(file, json.dump(2) + "\n");
}

fs::path NewestOf(const fs::path& run) { return ListCheckpoints(run).at(0).path; }

// By their paths below the run; its lock and the console's lines are every start's.
std::map<std::string, std::string> FilesOf(const fs::path& run) {
  std::map<std::string, std::string> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(run)) {
    const std::string name = entry.path().lexically_relative(run);
    if (entry.is_regular_file() && name != "run.lock" && name != "log.txt")
      files[name] = ReadText(entry.path());
  }
  return files;
}

// Of steps 2 and 4.
class NewerFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    WriteText(scratch_ / "weights.json", test::kOneTaskWeights);
    const Ended trained = test::TrainToTheEnd(Request(), run_);
    ASSERT_EQ(trained.code, ExitCode::kDone) << trained.out;
  }
  BeginRequest Request() const {
    return test::RequestOf("quickstart.json", test::kOneTask + (scratch_ / "weights.json").string() +
                                                  " steps=4 checkpoint.every=2");
  }
  static Ended Open(const fs::path& run) {
    return test::EndOf([&](Console& console) {
      OpenTrainedRun(run, console, "cpu");
      return ExitCode::kDone;
    });
  }
  static void ExpectRefused(const Ended& ended, const std::string& words) {
    EXPECT_EQ(ended.code, ExitCode::kBadInput) << ended.out;
    EXPECT_TRUE(Has(ended.out, words)) << ended.out;
  }

  const ScratchDirectory scratch_;
  const fs::path run_ = scratch_ / "run";
};

// As a newer medley adds to a log: with a cause that is not known here, and an edit behind it.
std::string WithANewLine(const std::string& log) {
  std::string text = log.substr(0, log.rfind("{\"cause\":\"end\""));
  const std::string sum_before = text.substr(text.size() - 35, 32), body = R"({"number":9,"cause":"merge")";
  return text + body + ",\"line_xxh3_128\":\"" + HashText(sum_before + body) + "\"}\n";
}

TEST_F(NewerFiles, AreRefusedAndStayAsTheyAre) {
  const std::string or_before = ". Use that medley, or a checkpoint from before";
  struct Case {
    std::function<void(const fs::path& run)> act;
    std::string words;
    bool is_opened_too = true;  // without it no parameters are read
  };
  const auto state = [](const std::string& pointer, int number) {
    return [=](const fs::path& run) {
      ForgeState(NewestOf(run),
                 [&](ordered_json& json) { json[ordered_json::json_pointer(pointer)] = number; });
    };
  };
  const std::vector<Case> cases = {
      {[](const fs::path& run) {
         Edit(run / "run.json", [](ordered_json& json) { json["data_rules"] = {{"version", 2}}; });
       },
       "\"data_rules\" of the run's run.json is of a newer medley (version 2, this one reads 1). Use that "
       "medley"},
      {[](const fs::path& run) { ForgeFormat(NewestOf(run), 2); },
       "step-00000004 is of a newer medley (format 2, this one reads 1)" + or_before},
      {state("/progress/version", 2),
       "the checkpoint's state of \"progress\" is of a newer medley (version 2, this one reads 1)" +
           or_before},
      {state("/generators/version", 2),
       "the checkpoint's state of \"generators\" is of a newer medley (version 2, this one reads 1)" +
           or_before,
       false},
      {state("/mixer/state/version", 3),
       "the saved state of the mixer is of a newer medley (version 3, this one reads 2)" + or_before, false},
      {state("/receipt/state/format", 2),
       "this receipt is of a newer medley (format 2, this one reads 1)" + or_before, false},
      {[](const fs::path& run) { WriteText(run / kWeightLog, WithANewLine(ReadText(run / kWeightLog))); },
       "weights.jsonl is of a newer medley (line 2 has what this one does not know). Use that medley\n",
       false},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.words);
    const fs::path run = scratch_ / "newer";
    fs::copy(run_, run, fs::copy_options::recursive);
    one.act(run);
    const auto before = FilesOf(run);
    ExpectRefused(test::ResumeToTheEnd(run, "steps=6"), one.words);
    if (one.is_opened_too) ExpectRefused(Open(run), one.words);
    EXPECT_EQ(FilesOf(run), before);
    fs::remove_all(run);
  }
}

TEST_F(NewerFiles, ACheckpointFromBeforeIsGoneOnFrom) {
  ForgeFormat(NewestOf(run_), 2);
  const Ended resumed = test::ResumeToTheEnd(run_, {.from = 2});
  EXPECT_EQ(resumed.code, ExitCode::kDone) << resumed.out;
  EXPECT_TRUE(fs::exists(run_ / "newer-step-00000004")) << resumed.out;
  EXPECT_EQ(Open(run_).code, ExitCode::kDone);
}

TEST_F(NewerFiles, ALogIsNotRepeatedEither) {
  WriteText(run_ / kWeightLog, WithANewLine(ReadText(run_ / kWeightLog)));
  ExpectRefused(
      test::ReplayToTheEnd(run_, Request(), scratch_ / "again"),
      "weights.jsonl is of a newer medley (line 2 has what this one does not know). Use that medley\n");
}

TEST_F(NewerFiles, ARunThatANewerMixerDrewDoesNotGoOn) {
  for (const CheckpointEntry& entry : ListCheckpoints(run_)) fs::remove_all(entry.path);  // they know the log
  fs::remove(run_ / "LATEST");
  std::vector<WeightEntry> entries = WeightLog(run_).entries();
  ASSERT_EQ(entries.size(), 1u);
  const auto rewrite = [&](std::int64_t rule) {
    entries[0].draw_rule = rule;
    WriteText(run_ / kWeightLog, TextOf({LineOf(entries[0], "")}, {}, LogEnd::kClosed));
  };
  rewrite(3);
  const auto before = FilesOf(run_);
  ExpectRefused(
      test::ResumeToTheEnd(run_),
      "weights.jsonl is of a newer medley (draw_rule 3, this one draws by 2). Use that medley, or a "
      "checkpoint from before");
  EXPECT_EQ(FilesOf(run_), before);
  rewrite(1);
  EXPECT_EQ(test::ResumeToTheEnd(run_).code, ExitCode::kDone) << "an older one's goes on";
}

TEST_F(NewerFiles, AKeyThatIsNotKnownSaysWhoseTheRunIs) {
  Edit(run_ / "config.resolved.json", [](ordered_json& json) { json["moons"] = 2; });
  const Ended same = test::ResumeToTheEnd(run_, "steps=6");
  ExpectRefused(same, "moons: unknown key (allowed: ");
  EXPECT_FALSE(Has(same.out, "The run is of medley")) << same.out;
  Edit(run_ / "run.json", [](ordered_json& json) { json["medley"] = "99.1.0"; });
  for (const Ended& ended : {test::ResumeToTheEnd(run_, "steps=6"), Open(run_)}) {
    ExpectRefused(ended, "moons: unknown key (allowed: ");
    ExpectRefused(ended, "\nThe run is of medley 99.1.0, this is ");
  }
}

TEST_F(NewerFiles, AReceiptEndsAReportWithWhatToDo) {
  Edit(run_ / "receipt.json", [](ordered_json& json) { json["format"] = 2; });
  const auto report = [&] { return test::Shell(test::Medley() + "report " + run_.string() + " 2>&1"); };
  const test::CommandResult refused = report();
  EXPECT_EQ(refused.code, 2) << refused.out;
  EXPECT_TRUE(Has(refused.out,
                  "receipt.json: this receipt is of a newer medley (format 2, this one reads 1). Use that "
                  "medley, or move the file away: a report without it says less"))
      << refused.out;
  fs::remove(run_ / "receipt.json");
  EXPECT_EQ(report().code, 0);
}

}  // namespace
}  // namespace medley
