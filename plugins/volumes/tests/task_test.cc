// The three tasks: their contract with a small model, and what they refuse.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/testing/checks.h>

#include "data/conversation_file.h"
#include "tests/models.h"

namespace medley_volumes {
namespace {

namespace fs = std::filesystem;
using Overrides = std::vector<std::string>;

medley::check::Bench MakeBench(const Overrides& overrides = {}) {
  return medley::check::Bench(VOLUMES_CONFIGS "test.json", {VOLUMES_PLUGIN}, overrides);
}

std::string Text(const medley::check::Findings& findings) {
  std::string text;
  for (const std::string& finding : findings) text += finding + "\n";
  return text;
}

class EachTask : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Tasks, EachTask, ::testing::Values("single", "multimodal", "compare"));

TEST_P(EachTask, KeepsItsContract) {
  const auto bench = MakeBench();
  EXPECT_EQ(Text(medley::check::Contract(bench.Task(GetParam()), bench.model())), "");
  EXPECT_EQ(Text(medley::check::Footprint(bench.Task(GetParam()), bench.model())), "");
  EXPECT_EQ(Text(medley::check::Score(bench.Task(GetParam()), bench.model())), "");
}

// (16, 1), (8, 2), (4, 4), (2, 8), and micro-batches that do not divide the rows.
TEST_P(EachTask, HasOneGradientInEveryModeAndMicroBatch) {
  const auto bench = MakeBench();
  EXPECT_EQ(Text(medley::check::Gradients(bench.Task(GetParam()), bench.model(),
                                          {.rows = 16, .micro_rows = {0, 8, 5, 4, 2}})),
            "");
}

void ExpectRefused(const char* task, const Overrides& overrides, const std::string& what) {
  try {
    const auto bench = MakeBench(overrides);
    const auto findings = medley::check::Contract(bench.Task(task), bench.model());
    EXPECT_NE(Text(findings).find(what), std::string::npos) << Text(findings);
  } catch (const medley::InputError& error) {
    EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
  }
}

TEST(Task, RefusesMoreScansThanTheModelHasRoomFor) {
  ExpectRefused("compare", {"model=" VOLUMES_CONFIGS "test-short.json"},
                "the model has 64; raise its language.positions, or show fewer scans");
}

class FromAFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "volumes_XXXXXX";
    folder_ = mkdtemp(pattern.data());
    setenv("XDG_CACHE_HOME", (folder_ / "cache").c_str(), 1);
  }
  void TearDown() override { fs::remove_all(folder_); }
  Overrides With(const std::string& task) const {
    return {"tasks." + task + ".options.data=" + (folder_ / (task + ".jsonl")).string()};
  }
  fs::path folder_;
};

TEST_F(FromAFile, AreTheSameConversationsLearned) {
  WriteConversations(folder_, "compare", Rows(24, [](medley::Row& row) {
                       return CompareExample(row, {8, 4, 4}, 2, false);
                     }));
  const auto bench = MakeBench(With("compare"));
  EXPECT_EQ(Text(medley::check::Contract(bench.Task("compare"), bench.model())), "");
  EXPECT_EQ(
      Text(medley::check::Gradients(bench.Task("compare"), bench.model(), {.rows = 6, .micro_rows = {0, 2}})),
      "");
}

TEST_F(FromAFile, AConversationWithoutAnAnswerNamesItsRow) {
  std::vector<Conversation> rows = Rows(24, [](medley::Row& row) { return SingleExample(row, {8, 4, 4}); });
  for (Conversation& row : rows) row.turns.pop_back();
  WriteConversations(folder_, "single", rows);
  ExpectRefused("single", With("single"),
                "single.jsonl:1: turns: it ends without an assistant's turn: nothing in it can be learned");
}

}  // namespace
}  // namespace medley_volumes
