// What a resume says of what is no longer as it was, and what it refuses.
#include <gtest/gtest.h>

#include "tests/session/session_runs.h"
#include "tests/tools/edited_runs.h"
#include "tests/tools/small_runs.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using test::Ended;
using test::Has;

// A run of one step, made from copies of its files.
class ResumeChanges : public ::testing::Test {
 protected:
  void SetUp() override {
    BeginRequest request = test::RequestOf("control.json", files_.Overrides() + " hours=0");
    request.plugins.paths = {files_.plugin.parent_path()};
    const Ended trained = test::TrainToTheEnd(request, files_.run);
    ASSERT_EQ(trained.code, ExitCode::kDone) << trained.out;
  }
  Ended Resume() const { return test::ResumeToTheEnd(files_.run, "steps=2"); }
  static void Append(const fs::path& file, const std::string& text) {
    WriteText(file, ReadText(file) + text);
  }

  const test::CopiedFiles files_;
};

TEST_F(ResumeChanges, SaysTheNewNumberOfStepsAndNothingElse) {
  const Ended resumed = Resume();
  EXPECT_EQ(resumed.code, ExitCode::kDone) << resumed.out;
  EXPECT_TRUE(
      Has(resumed.out, "steps: 1 -> 2; the learning rate is a function of them, and goes on as it was\n"))
      << resumed.out;
  EXPECT_FALSE(Has(resumed.out, "edited") || Has(resumed.out, "anew")) << resumed.out;
}

TEST_F(ResumeChanges, SaysThatTheWeightsFileWasEdited) {
  fs::remove(files_.weights);  // the run has one of its own
  Append(files_.run / "weights.json", "\n");
  const Ended resumed = Resume();
  EXPECT_EQ(resumed.code, ExitCode::kDone) << resumed.out;
  EXPECT_TRUE(Has(resumed.out, "step 1: the weights were edited: no weight changed")) << resumed.out;
}

// Both files stay good ones.
TEST_F(ResumeChanges, RefusesAnotherTokenizerAndAnotherControlText) {
  const std::string metrics = ReadText(files_.run / "metrics.jsonl");
  const std::string unknown_field("\xc2\x3e\x00", 3);  // of protobuf, with number 1000, empty
  for (const auto& [file, more] :
       {std::pair(files_.tokenizer, unknown_field), std::pair(files_.control_text, std::string("more\n"))}) {
    const std::string before = ReadText(file);
    Append(file, more);
    const Ended resumed = Resume();
    EXPECT_EQ(resumed.code, ExitCode::kBadInput) << resumed.out;
    EXPECT_TRUE(Has(resumed.out, file.string() + " (")) << resumed.out;
    EXPECT_TRUE(Has(resumed.out, "is not what the run began with")) << resumed.out;
    WriteText(file, before);
  }
  EXPECT_EQ(ReadText(files_.run / "metrics.jsonl"), metrics);
  EXPECT_EQ(Resume().code, ExitCode::kDone);
}

TEST_F(ResumeChanges, TakesAFileThatIsNamedAsChangedAndWritesItDown) {
  const auto resume = [&](const std::vector<fs::path>& allowed, const std::string& steps) {
    return test::ResumeToTheEnd(
        files_.run, {.overrides = {"steps=" + steps, "checkpoint.keep=9"}, .allow_changed = allowed});
  };
  const auto changed = [&] { return test::EntriesOf(files_.run, WeightEntry::Cause::kChangedFile); };
  const auto sum = [&] {
    return nlohmann::json::parse(ReadText(files_.run / "run.json"))
        .at("inputs")
        .at("control_text")
        .at("xxh3_128")
        .get<std::string>();
  };
  const std::string before = sum();
  Append(files_.control_text, "more\n");
  const std::string record = ReadText(files_.run / "run.json");
  EXPECT_EQ(resume({}, "2").code, ExitCode::kBadInput);
  EXPECT_EQ(resume({files_.tokenizer}, "2").code, ExitCode::kBadInput) << "another one is named";
  const Ended stranger = resume({files_.control_text, files_.scratch / "other.txt"}, "2");
  EXPECT_EQ(stranger.code, ExitCode::kBadInput) << stranger.out;
  EXPECT_TRUE(Has(stranger.out, "other.txt: ") &&
              Has(stranger.out, " is not made from it. Expected one of: "))
      << stranger.out;
  EXPECT_EQ(ReadText(files_.run / "run.json"), record) << "nothing happened so far";
  EXPECT_TRUE(changed().empty());

  const Ended taken = resume({files_.control_text}, "2");
  ASSERT_EQ(taken.code, ExitCode::kDone) << taken.out;
  EXPECT_NE(sum(), before);
  const std::string words =
      files_.control_text.string() + " (control_text): XXH3-128 " + before + " -> " + sum();
  EXPECT_TRUE(Has(taken.out, "changed, as --allow-changed allows: " + words)) << taken.out;
  ASSERT_EQ(changed().size(), 1U);
  EXPECT_EQ(changed()[0].step, 1);
  EXPECT_EQ(changed()[0].name, "control_text");
  EXPECT_EQ(changed()[0].words, words);

  const Ended next = resume({}, "3");
  EXPECT_EQ(next.code, ExitCode::kDone) << next.out;
  // As a job does that is started again with the same words.
  const Ended again = resume({files_.control_text}, "4");
  EXPECT_EQ(again.code, ExitCode::kDone) << again.out;
  EXPECT_TRUE(Has(again.out, files_.control_text.string() + " is what the run knows already")) << again.out;
  EXPECT_EQ(changed().size(), 1U);

  // What the log had behind the checkpoint is still so.
  for (const CheckpointEntry& entry : ListCheckpoints(files_.run)) {
    if (entry.step > 1) fs::remove_all(entry.path);
  }
  const Ended older = resume({}, "5");
  EXPECT_EQ(older.code, ExitCode::kDone) << older.out;
  ASSERT_EQ(changed().size(), 1U);
  EXPECT_EQ(changed()[0].words, words);
  const Ended repeated = test::ReplayToTheEnd(
      files_.run, test::RequestOf("control.json", files_.Overrides() + " hours=0"), files_.scratch / "again");
  EXPECT_EQ(repeated.code, ExitCode::kBadInput) << repeated.out;
  EXPECT_TRUE(Has(repeated.out, "cannot be repeated: a file that it is made from changed after step 1"))
      << repeated.out;
}

}  // namespace
}  // namespace medley
