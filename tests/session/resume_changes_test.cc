// What a resume says of what is no longer as it was, and what it refuses.
#include <gtest/gtest.h>

#include <medley/report/table.h>

#include "tests/session/session_runs.h"
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
  std::vector<double> rates;
  std::istringstream lines(ReadText(files_.run / "metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) rates.push_back(nlohmann::json::parse(line).at("lr"));
  ASSERT_EQ(rates.size(), 2U);
  EXPECT_TRUE(Has(resumed.out, "steps: 1 -> 2; the learning rate is a function of them: that of step 2 is " +
                                   FormatNumber(rates[1] / rates[0]) + " times that of step 1\n"))
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

}  // namespace
}  // namespace medley
