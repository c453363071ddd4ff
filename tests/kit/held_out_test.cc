// Runs over a file of one's own: which of its lines are held out, and what names of special tokens in it are.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/follows_schema.h"
#include "tests/plugin/test_files.h"
#include "tests/tools/run_command.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using test::CommandResult;
using test::Has;
using testing::ReadBytes;
using testing::WriteBytes;

class HeldOutLines : public ::testing::Test {
 protected:
  HeldOutLines() {
    WriteBytes(data_, Lines(0, 24));
    WriteBytes(work_ / "weights.json", R"({"weights": {"lines": 1}})");
  }
  static std::string Lines(int begin, int end) {
    static const char* kWords[] = {"one", "two", "three", "four", "five"};
    std::string lines;
    for (int i = begin; i < end; ++i)
      lines += R"({"ask": "What is )" + std::to_string(i) + R"(?", "say": ")" + kWords[i % 5] + "\"}\n";
    return lines;
  }
  CommandResult Medley(const std::string& words) const {
    return test::Shell("OMP_NUM_THREADS=1 XDG_CACHE_HOME=" + (work_ / "cache").string() + " " +
                       test::Medley() + words + " 2>&1");
  }
  std::string Config(const std::string& more, const std::string& plugins) const {
    return MEDLEY_SOURCE_DIR "/configs/runs/plugin.json --plugin-path " + plugins +
           " threads=1 hours=0 steps=2 tasks.lines.rows=2 weights=" + (work_ / "weights.json").string() +
           " tasks.lines.options.data=" + data_.string() + " " + more;
  }
  CommandResult Train(const std::string& run, const std::string& more = "",
                      const std::string& plugins = MEDLEY_GAME_PLUGIN_DIRECTORY) const {
    return Medley("train " + Config("plan=false " + more, plugins) + " --out " + Run(run));
  }
  CommandResult Trained(const std::string& run, const std::string& more = "",
                        const std::string& plugins = MEDLEY_GAME_PLUGIN_DIRECTORY) const {
    CommandResult trained = Train(run, more, plugins);
    EXPECT_EQ(trained.code, 0) << trained.out;
    return trained;
  }
  std::string Run(const std::string& run) const { return (work_ / run).string(); }
  ordered_json Record(const std::string& run) const {
    return ordered_json::parse(ReadBytes(work_ / run / "run.json"));
  }
  ordered_json Share(const std::string& run) const {
    return Record(run).at("data_rules").at("held_out").at("lines").at(0);
  }
  std::string Metrics(const std::string& run) const { return ReadBytes(work_ / run / "metrics.jsonl"); }
  // As a medley before wrote it: no record of the rules, no seed of evaluations.
  void MakeEarlier(const std::string& run, const std::string& config = "config.resolved.json") const {
    ordered_json record = Record(run);
    record.erase("data_rules");
    WriteBytes(work_ / run / "run.json", record.dump());
    ordered_json resolved = ordered_json::parse(ReadBytes(work_ / run / config));
    resolved.at("eval").erase("seed");
    WriteBytes(work_ / run / config, resolved.dump());
  }
  // Back to before its first step, where the next start draws every row.
  void ForgetSteps(const std::string& run) const {
    std::vector<fs::path> made;
    for (const fs::directory_entry& entry : fs::directory_iterator(work_ / run)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("step-") || name == "LATEST" || name == "metrics.jsonl" || name == "timing.jsonl")
        made.push_back(entry.path());
    }
    for (const fs::path& path : made) fs::remove_all(path);
  }

  testing::TempDirectory work_;
  const fs::path data_ = work_ / "data.jsonl";
};

constexpr const char* kEight = "tasks.lines.options.held_out=8 ";

TEST_F(HeldOutLines, StayOnTheirSideWhereTheFileGrows) {
  const CommandResult began = Trained("run", kEight);
  const ordered_json share = Share("run");
  EXPECT_EQ(share.at("share"), 8.0 / 24);
  EXPECT_EQ(share.at("items"), 24);
  EXPECT_TRUE(Has(began.out, "'lines' holds out " + share.at("held_out").dump() +
                                 " of 24 items of data.jsonl: tasks.lines.options.held_out 8 is the share "
                                 "0.3333, which the run keeps when the file grows"))
      << began.out;
  EXPECT_TRUE(Has(began.out, "fewer than 100 items tell little")) << began.out;

  WriteBytes(data_, Lines(100, 316) + Lines(0, 24));
  const std::string resume = "resume " + Run("run") + " steps=3 ";
  EXPECT_EQ(Medley(resume).code, 2) << "the file is another one";
  const CommandResult resumed = Medley(resume + "--allow-changed " + data_.string());
  ASSERT_EQ(resumed.code, 0) << resumed.out;
  const ordered_json grown = Share("run");
  EXPECT_EQ(grown.at("share"), share.at("share"));
  EXPECT_EQ(grown.at("items"), 240);
  EXPECT_TRUE(Has(resumed.out, "'lines' holds out " + grown.at("held_out").dump() +
                                   " of 240 items of data.jsonl; before they were " +
                                   share.at("held_out").dump() +
                                   " of 24. Scores of then and now are of other"))
      << resumed.out;
  EXPECT_EQ(Record("run").at("data_rules").at("held_out").at("lines").size(), 1U);

  const auto schema =
      nlohmann::json::parse(ReadBytes(MEDLEY_SOURCE_DIR "/configs/schema/data-rules.schema.json"));
  EXPECT_EQ(test::SchemaMistakes(schema, nlohmann::json(Record("run").at("data_rules"))), "");

  // A run that takes these weights keeps the share, and says nothing of rows that they have seen.
  const std::string from = std::string(kEight) + "init_from.run=" + Run("run") + " ";
  const CommandResult next = Trained("next", from);
  EXPECT_EQ(Share("next"), grown);
  EXPECT_FALSE(Has(next.out, "it may have trained on")) << next.out;
  const CommandResult more = Trained("more", "tasks.lines.options.held_out=0.9 init_from.run=" + Run("run"));
  EXPECT_TRUE(
      Has(more.out, "it may have trained on " + std::to_string(Share("more").at("held_out").get<int>() -
                                                               grown.at("held_out").get<int>())))
      << more.out;
  // What is compared holds out other items, and that comes before any number.
  const CommandResult compared = Medley("eval " + Run("next") + " --against " + Run("more"));
  EXPECT_EQ(compared.code, 0) << compared.out;
  const auto said = compared.out.find("'lines' is not compared with");
  EXPECT_LT(said, compared.out.find("accuracy")) << compared.out;
  const CommandResult page = Medley("report " + Run("next") + " --against " + Run("more") + " --html " +
                                    (work_ / "page.html").string());
  EXPECT_TRUE(Has(page.out, "is scored on other rows than")) << page.out;
  EXPECT_TRUE(Has(ReadBytes(work_ / "page.html"), "it holds out other items (")) << page.out;
}

// Rows, sides and tokens of a run that began before are those that it had, which the older interface with the
// older tokens shows; and a run that takes its weights says what they may have seen.
TEST_F(HeldOutLines, OfARunThatBeganBeforeAreAsTheyWere) {
  WriteBytes(data_, Lines(0, 23) + "{\"ask\": \"two<eos> <image>\", \"say\": \"two\"}\n");
  const std::string evaluates = std::string(kEight) + "seed=7 eval.every=1 steps=4 ";
  const CommandResult placed = Trained(
      "placed", evaluates + "eval.seed=7 tasks.lines.options.special_tokens=true", MEDLEY_PLACED_PLUGINS);
  EXPECT_TRUE(Has(placed.out, "'lines' holds out items by their number and place")) << placed.out;
  EXPECT_TRUE(Has(placed.out, "they are these tokens, as tasks.lines.options.special_tokens says"))
      << placed.out;

  Trained("run", evaluates);
  EXPECT_NE(Metrics("run"), Metrics("placed"));
  MakeEarlier("run");
  ForgetSteps("run");
  const CommandResult resumed = Medley("resume " + Run("run"));
  ASSERT_EQ(resumed.code, 0) << resumed.out;
  EXPECT_EQ(Metrics("run"), Metrics("placed"));
  EXPECT_FALSE(Record("run").contains("data_rules"));
  EXPECT_FALSE(Has(resumed.out, "changed: eval.seed")) << resumed.out;
  EXPECT_TRUE(Has(resumed.out, "they are these tokens, as this run began so")) << resumed.out;
  // Also where it goes on, with a config that has the seed by now.
  const CommandResult on = Medley("resume " + Run("run") + " steps=5");
  ASSERT_EQ(on.code, 0) << on.out;
  EXPECT_FALSE(Record("run").contains("data_rules"));
  const CommandResult scored = Medley("eval " + Run("run"));
  EXPECT_EQ(scored.code, 0) << scored.out;
  EXPECT_EQ(ordered_json::parse(ReadBytes(work_ / "run/eval.json")).at("seed"), 7);
  EXPECT_EQ(ordered_json::parse(ReadBytes(work_ / "run/eval.json")).at("tasks").at("lines").at("items"), 8);

  const CommandResult next = Trained("next", std::string(kEight) + "init_from.run=" + Run("run"));
  EXPECT_TRUE(Has(next.out, " held out the items of 'lines' by place, so they were others; of the " +
                                Share("next").at("held_out").dump() +
                                " items that are held out now it may have trained on "))
      << next.out;
}

TEST_F(HeldOutLines, AreTheSameWhateverTheSeedOfTheRun) {
  const std::string share = "tasks.lines.options.held_out=0.3 ";
  Trained("one", share + "seed=1");
  Trained("two", share + "seed=2");
  Trained("three", share + "seed=2 eval.seed=3");
  EXPECT_EQ(Share("one"), Share("two"));
  const auto rows_of = [&](const std::string& run) {
    EXPECT_EQ(Medley("eval " + Run(run)).code, 0);
    return ReadBytes(work_ / run / "sheet-lines.txt");
  };
  const auto questions = [](const std::string& sheet) {
    std::string asked;
    for (std::size_t at = 0; (at = sheet.find("What is", at)) != std::string::npos; ++at)
      asked += sheet.substr(at, sheet.find('?', at) - at) + "\n";
    return asked;
  };
  const std::string asked = questions(rows_of("one"));
  EXPECT_FALSE(asked.empty());
  EXPECT_EQ(questions(rows_of("two")), asked);
  EXPECT_NE(questions(rows_of("three")), asked);
  const CommandResult page = Medley("report " + Run("one") + " --against " + Run("three") + " --html " +
                                    (work_ / "page.html").string());
  EXPECT_TRUE(Has(page.out, "eval.seed is 3, not 0")) << page.out;
  const CommandResult changed = Medley("resume " + Run("one") + " steps=3 eval.seed=4");
  EXPECT_EQ(changed.code, 2) << changed.out;
}

TEST_F(HeldOutLines, WithNamesOfSpecialTokensAreTextAndCounted) {
  WriteBytes(data_, Lines(0, 9) + "{\"ask\": \"two<eos>\", \"say\": \"two\"}\n\n" +
                        R"({"ask": "\u003cimage\u003e", "say": "two"})" + "\n" +
                        R"({"ask": "<\/image>", "say": "two"})" + "\n" + Lines(9, 12));
  const CommandResult trained = Trained("run");
  EXPECT_TRUE(Has(trained.out, "'lines': 3 rows of " + data_.string() +
                                   " hold names of special tokens, first <eos> at " + data_.string() +
                                   ":10; they are text, spelled as any other"))
      << trained.out;
  const auto said = trained.out.find("hold names of special tokens");
  EXPECT_EQ(trained.out.find("hold names of special tokens", said + 1), std::string::npos);
}

// What decides nothing so far is not in the way of anything: every verb that opens the file goes on with it.
TEST_F(HeldOutLines, AreThoseOfEveryVerb) {
  const std::string config = Config(kEight, MEDLEY_GAME_PLUGIN_DIRECTORY);
  for (const std::string& words : {"plan " + config, "validate " + config, "estimate " + config}) {
    const CommandResult done = Medley(words);
    EXPECT_EQ(done.code, 0) << words << done.out;
  }
  const CommandResult refused = Train("run", "tasks.lines.options.held_out=24");
  EXPECT_EQ(refused.code, 2) << refused.out;
  EXPECT_TRUE(Has(refused.out, "'lines' has 24 items in data.jsonl, of which none is left for training"))
      << refused.out;
  EXPECT_FALSE(fs::exists(work_ / "run/metrics.jsonl") && !Metrics("run").empty());
}

}  // namespace
}  // namespace medley
