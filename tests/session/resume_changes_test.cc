// What a resume says of what is no longer as it was, and what it refuses.
#include <gtest/gtest.h>

#include "tests/session/session_runs.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using test::Ended;
using test::Has;

// A run of one step, made from copies of its files.
class ResumeChanges : public ::testing::Test {
 protected:
  void SetUp() override {
    const fs::path configs = MEDLEY_SOURCE_DIR "/configs";
    fs::copy(configs / "tokenizers/small.model", tokenizer_);
    fs::copy(configs / "texts/control.txt", control_text_);
    fs::copy(configs / "weights/control.json", weights_);
    fs::create_directory(plugin_.parent_path());
    fs::copy(MEDLEY_BUILD_DIR "/lib/medley/" MEDLEY_PLUGIN_FOLDER "/control.so", plugin_);
    BeginRequest request = test::RequestOf(
        "control.json", "threads=1 plan=false tasks.control.rows=2 steps=1 tokenizer=" + tokenizer_.string() +
                            " control_text=" + control_text_.string() + " weights=" + weights_.string());
    request.plugins.paths = {plugin_.parent_path()};
    const Ended trained = test::TrainToTheEnd(request, run_);
    ASSERT_EQ(trained.code, ExitCode::kDone) << trained.out;
  }
  Ended Resume() const { return test::ResumeToTheEnd(run_, "steps=2"); }
  static void Append(const fs::path& file, const std::string& text) {
    WriteText(file, ReadText(file) + text);
  }

  ScratchDirectory scratch_;
  fs::path run_ = scratch_ / "run", tokenizer_ = scratch_ / "own.model", control_text_ = scratch_ / "own.txt",
           weights_ = scratch_ / "own.json", plugin_ = scratch_ / "plugins/control.so";
};

TEST_F(ResumeChanges, SaysTheNewNumberOfStepsAndNothingElse) {
  const Ended resumed = Resume();
  EXPECT_EQ(resumed.code, ExitCode::kDone) << resumed.out;
  EXPECT_TRUE(Has(resumed.out, "steps: 1 -> 2; the learning rate")) << resumed.out;
  EXPECT_FALSE(Has(resumed.out, "edited") || Has(resumed.out, "anew")) << resumed.out;
}

TEST_F(ResumeChanges, SaysThatTheWeightsFileWasEdited) {
  fs::remove(weights_);  // the run has one of its own
  Append(run_ / "weights.json", "\n");
  const Ended resumed = Resume();
  EXPECT_EQ(resumed.code, ExitCode::kDone) << resumed.out;
  EXPECT_TRUE(Has(resumed.out, "step 1: the weights were edited: no weight changed")) << resumed.out;
}

// Both files stay good ones.
TEST_F(ResumeChanges, RefusesAnotherTokenizerAndAnotherControlText) {
  const std::string metrics = ReadText(run_ / "metrics.jsonl");
  const std::string unknown_field("\xc2\x3e\x00", 3);  // of protobuf, with number 1000, empty
  for (const auto& [file, more] :
       {std::pair(tokenizer_, unknown_field), std::pair(control_text_, std::string("more\n"))}) {
    const std::string before = ReadText(file);
    Append(file, more);
    const Ended resumed = Resume();
    EXPECT_EQ(resumed.code, ExitCode::kBadInput) << resumed.out;
    EXPECT_TRUE(Has(resumed.out, file.string() + " (")) << resumed.out;
    EXPECT_TRUE(Has(resumed.out, "is not what the run began with")) << resumed.out;
    WriteText(file, before);
  }
  EXPECT_EQ(ReadText(run_ / "metrics.jsonl"), metrics);
  EXPECT_EQ(Resume().code, ExitCode::kDone);
}

}  // namespace
}  // namespace medley
