// The three tasks: their contract with a small model, and what they refuse.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
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

// Of each task every number of scans that it can have.
class EachNumberOfScans : public ::testing::TestWithParam<std::pair<std::string, std::int64_t>> {
 protected:
  std::string task() const { return GetParam().first; }
  std::int64_t images() const { return GetParam().second; }
  std::string option() const { return "tasks." + task() + ".options.images=" + std::to_string(images()); }
};
INSTANTIATE_TEST_SUITE_P(Tasks, EachNumberOfScans,
                         ::testing::Values(std::pair("single", 1), std::pair("single", 2),
                                           std::pair("single", 3), std::pair("single", 4),
                                           std::pair("multimodal", 2), std::pair("multimodal", 3),
                                           std::pair("multimodal", 4), std::pair("compare", 2),
                                           std::pair("compare", 3), std::pair("compare", 4)));

TEST_P(EachNumberOfScans, IsThatOfEveryRow) {
  const auto bench = MakeBench({option()});
  std::set<std::string> kinds;
  for (const bool longest : {false, true}) {
    const medley::RowRange range{.seed = 5, .begin = 40, .count = 24, .longest = longest};
    const medley::Batch rows = medley::check::Sample(bench.Task(task()), range);
    for (std::size_t row = 0; row < 24; ++row) {
      const auto count = [&](const char* kind) {
        const std::vector<std::int64_t>& offsets = rows.Ragged(kind).offsets;
        return offsets[row + 1] - offsets[row];
      };
      EXPECT_EQ(count("volumes") + count("series"), images()) << row;
      kinds.insert((longest ? "longest, " : "") + std::to_string(count("series")) + " series");
    }
  }
  EXPECT_EQ(kinds.size(), task() == "multimodal" ? 4U : 2U);
}

TEST_P(EachNumberOfScans, KeepsItsContract) {
  const auto bench = MakeBench({option()});
  medley::LoadedTask& loaded = bench.Task(task());
  EXPECT_EQ(Text(medley::check::Contract(loaded, bench.model())), "");
  EXPECT_EQ(Text(medley::check::Footprint(loaded, bench.model())), "");
  EXPECT_EQ(Text(medley::check::Score(loaded, bench.model())), "");
  EXPECT_EQ(Text(medley::check::Gradients(loaded, bench.model(), {.rows = 6, .micro_rows = {0, 4}})), "");
}

// Nobody's rows change because there is such an option.
TEST(Task, RowsWithoutANumberOfScansAreThoseWithTheNumberThatTheyNeed) {
  const auto values = [](const char* task, const Overrides& overrides) {
    const auto bench = MakeBench(overrides);
    const medley::Batch rows =
        medley::check::Sample(bench.Task(task), {.seed = 5, .begin = 40, .count = 12, .longest = false});
    return std::pair(rows.Column("tokens").clone(), rows.Ragged("volumes").values.clone());
  };
  for (const auto& [task, alike] :
       {std::pair<const char*, Overrides>{"single", {"tasks.single.options.images=1"}},
        {"multimodal", {"tasks.multimodal.options.images=3", "tasks.multimodal.options.series=1"}},
        {"multimodal", {"tasks.multimodal.options.images=2", "tasks.multimodal.options.series=0"}}}) {
    Overrides open = alike;
    open[0].back() = '0';
    const auto [tokens, volumes] = values(task, alike);
    const auto [open_tokens, open_volumes] = values(task, open);
    EXPECT_TRUE(tokens.equal(open_tokens)) << alike[0];
    EXPECT_TRUE(volumes.equal(open_volumes)) << alike[0];
  }
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

TEST(Task, RefusesFewerScansThanItsQuestionsNeed) {
  for (const char* task : {"multimodal", "compare"})
    ExpectRefused(task, {"tasks." + std::string(task) + ".options.images=1"},
                  "the option images: rows of this task have 2 to 4 scans");
  ExpectRefused("single", {"tasks.single.options.images=1.5"}, "rows of this task have 1 to 4 scans");
  ExpectRefused("single", {"tasks.single.options.images=5"}, "images");
  ExpectRefused("single",
                {"model=" VOLUMES_CONFIGS "test-short.json", "tasks.single.options.text=32",
                 "tasks.single.options.images=4"},
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
