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
    return MistakesOf([&] { RequireSameInputs(before, now, "runs/a"); });
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
  EXPECT_TRUE(Has(words, "medley resume runs/a --allow-changed " + (work_ / "a.csv").string() + " goes on"))
      << words;
}

TEST_F(InputRecordTest, AllThatChangedIsRefusedTogether) {
  work_.Write("a.csv", "x\n1\n");
  auto before = Record("a.csv");
  before["tokenizer"]["xxh3_128"] = "00";
  before["model"]["xxh3_128"] = "11";
  const auto now = Record("a.csv");
  const std::string words = Refusal(before, now);
  EXPECT_TRUE(Has(words, "(model) is not what the run began with (XXH3-128 11, now ")) << words;
  EXPECT_TRUE(Has(words, "(tokenizer) is not what the run began with (XXH3-128 00, now ")) << words;
  EXPECT_TRUE(Has(words, " --allow-changed " + now.at("model").at("path").get<std::string>() +
                             " --allow-changed " + now.at("tokenizer").at("path").get<std::string>() +
                             " goes"))
      << words;
}

TEST_F(InputRecordTest, WhatIsNamedMayChangeAndIsKnownFromThenOn) {
  work_.Write("a.csv", "x\n1\n");
  const auto began = Record("a.csv");
  work_.Write("a.csv", "x\n2\n");
  work_.Write("other.csv", "x\n2\n");
  const auto now = Record("a.csv");
  const auto allow = [&](nlohmann::ordered_json& before, const fs::path& file) {
    return AllowChanged(before, now, {file}, "runs/a");
  };
  auto before = began;
  const auto changed = allow(before, work_ / "clips" / ".." / "a.csv");  // a folder that need not be there
  ASSERT_EQ(changed.size(), 1U);
  EXPECT_TRUE(changed[0].any());
  EXPECT_EQ(changed[0].name, "tasks.alpha.options.clips");
  const std::string key = "tasks.alpha.options.clips", sum = "xxh3_128";
  EXPECT_EQ(changed[0].Words(), (work_ / "a.csv").string() + " (" + key + "): XXH3-128 " +
                                    began.at(key).at(sum).get<std::string>() + " -> " +
                                    now.at(key).at(sum).get<std::string>());
  EXPECT_EQ(Refusal(before, now), "");
  const auto again = allow(before, work_ / "a.csv");
  ASSERT_EQ(again.size(), 1U);
  EXPECT_FALSE(again[0].any());
  before = began;
  const std::string stranger = MistakesOf([&] { allow(before, work_ / "other.csv"); });
  EXPECT_TRUE(Has(stranger, "other.csv: runs/a is not made from it. Expected one of: ")) << stranger;
  EXPECT_TRUE(Has(stranger, "a.csv")) << stranger;
  EXPECT_FALSE(Has(stranger, now.at("weights").at("path").get<std::string>())) << "it may be edited anyway";
  // One that is not named is refused beside one that is.
  EXPECT_NE(MistakesOf([&] { allow(before, now.at("model").at("path").get<std::string>()); }), "");
  EXPECT_EQ(before.at(key), began.at(key));
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

// A copy has other times, and so has an edit: elsewhere sizes and samples decide, at its place the times.
TEST_F(InputRecordTest, ACopyOfAFolderIsKnownBySizesAndSamples) {
  for (int i = 0; i < 90; ++i)
    work_.Write("clips/" + std::to_string(i % 3) + "/" + std::to_string(i), "clip");
  work_.Write("clips/empty", "");
  work_.Write("clips/long", std::string(3 << 20, 'a'));
  const auto before = Record("clips");
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(work_ / "clips"))
    if (entry.is_regular_file())
      fs::last_write_time(entry.path(), entry.last_write_time() - std::chrono::hours(1));
  EXPECT_NE(Refusal(before, Record("clips")), "") << "at its place";
  fs::rename(work_ / "clips", work_ / "copied");
  EXPECT_EQ(Refusal(before, Record("copied")), "");
  const std::string key = "tasks.alpha.options.clips";
  const InputChange moved = CompareInput(key, before.at(key), Record("copied").at(key));
  EXPECT_TRUE(moved.moved() && moved.by_samples);
  EXPECT_TRUE(Has(moved.MoveWords(), "it was not read whole")) << moved.MoveWords();
  work_.Write("copied/long", std::string(3 << 20, 'b'));
  EXPECT_NE(Refusal(before, Record("copied")), "") << "other bytes";
  work_.Write("copied/long", std::string(3 << 20, 'a'));
  EXPECT_EQ(Refusal(before, Record("copied")), "");
  fs::rename(work_ / "copied/empty", work_ / "copied/other");
  EXPECT_NE(Refusal(before, Record("copied")), "") << "another name";
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
