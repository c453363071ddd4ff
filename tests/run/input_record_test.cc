#include <medley/run/input_record.h>

#include <gtest/gtest.h>

#include <medley/run/validate.h>

#include "config/config_testing.h"

namespace medley::testing {
namespace {

namespace fs = std::filesystem;

// A run whose task alpha reads `clips`.
class InputRecordTest : public ::testing::Test {
 protected:
  nlohmann::ordered_json Record(const std::string& clips) const {
    const Registry registry = Registry::Scan({.paths = {MEDLEY_CONFIG_FIXTURES},
                                              .environment = false,
                                              .user_directory = false,
                                              .own_directory = false});
    const fs::path file = work_.WriteRun(R"("tasks": {"alpha": {"options": {"clips": ")" + clips + "\"}}}");
    return InputRecord(CheckRun(file, {}, registry).run, registry);
  }
  // What refuses the second record, "" where nothing does.
  static std::string Refusal(const nlohmann::ordered_json& before, const nlohmann::ordered_json& now) {
    return MistakesOf([&] { RequireSameInputs(before, now); });
  }

  const Workspace work_;
};

TEST_F(InputRecordTest, AFileOfATaskIsKnownByItsContents) {
  work_.Write("a.csv", "x\n1\n");
  const auto before = Record("a.csv");
  work_.Write("moved/b.csv", "x\n1\n");
  EXPECT_EQ(Refusal(before, Record("moved/b.csv")), "");
  work_.Write("a.csv", "x\n2\n");
  const std::string words = Refusal(before, Record("a.csv"));
  EXPECT_TRUE(Has(words, "a.csv (tasks.alpha.options.clips) is not what the run began with")) << words;
}

TEST_F(InputRecordTest, AFolderByNamesSizesAndTimes) {
  work_.Write("clips/1/a", "one");
  work_.Write("clips/b", "two");
  const auto before = Record("clips");
  const auto time = fs::last_write_time(work_ / "clips/b");
  EXPECT_EQ(Refusal(before, Record("clips")), "");
  work_.Write("clips/b", "six");
  fs::last_write_time(work_ / "clips/b", time + std::chrono::seconds(1));
  EXPECT_NE(Refusal(before, Record("clips")), "");
  fs::last_write_time(work_ / "clips/b", time);
  EXPECT_EQ(Refusal(before, Record("clips")), "") << "its contents are not read";
  fs::rename(work_ / "clips/1/a", work_ / "clips/1/c");
  EXPECT_NE(Refusal(before, Record("clips")), "");
}

TEST_F(InputRecordTest, ALargeFileIsNotRead) {
  work_.Write("large", "");
  fs::resize_file(work_ / "large", (std::uintmax_t{64} << 20) + 1);
  const auto before = Record("large");
  const auto time = fs::last_write_time(work_ / "large");
  EXPECT_FALSE(before.at("tasks.alpha.options.clips").contains("xxh3_128"));
  EXPECT_EQ(Refusal(before, Record("large")), "");
  fs::last_write_time(work_ / "large", time + std::chrono::seconds(1));
  EXPECT_NE(Refusal(before, Record("large")), "");
}

// The weights file is a run's own business, and an older record knows less.
TEST_F(InputRecordTest, OnlyWhatTheRecordNamesIsCompared) {
  work_.Write("a.csv", "x\n1\n");
  auto before = Record("a.csv");
  before["weights"]["xxh3_128"] = "00";
  before.erase("tasks.alpha.options.clips");
  EXPECT_EQ(Refusal(before, Record("a.csv")), "");
  before["tokenizer"]["xxh3_128"] = "00";
  EXPECT_NE(Refusal(before, Record("a.csv")), "");
}

}  // namespace
}  // namespace medley::testing
