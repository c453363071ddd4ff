// What a sweep's directory keeps, and which other command may go on with it.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include <medley/base/error.h>
#include <medley/runs/first_weights.h>
#include <medley/runs/run_pace.h>
#include <medley/runs/sweep_record.h>

#include "tests/report/scratch_directory.h"
#include "tests/words.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using test::Has;
using test::MessageOf;

SweepRecord Rates() {
  SweepRecord record{.command = "medley sweep a.json", .config = "/a.json"};
  record.files = {{"config", "1"}, {"weights /w.json", "2"}};
  record.keys = {{"optimizer.learning_rate", {"1e-3", "1e-4"}}};
  record.fixed = {"steps=10"};
  record.seeds = {1, 2};
  record.groups = GroupsOf(record.keys);
  return record;
}

TEST(SweepRecord, TheFirstSeedOfAllValuesComesFirst) {
  std::string names;
  for (const SweepRun& run : RunsOf(Rates())) names += run.name + " ";
  EXPECT_EQ(names,
            "learning_rate=1e-3/seed-1 learning_rate=1e-4/seed-1 learning_rate=1e-3/seed-2 "
            "learning_rate=1e-4/seed-2 ");
  SweepRecord seeds = Rates();
  seeds.keys.clear();
  seeds.groups = GroupsOf({});
  EXPECT_EQ(RunsOf(seeds).front().name, "seed-1");
}

TEST(SweepRecord, IsReadAsItWasWritten) {
  const ScratchDirectory scratch;
  EXPECT_FALSE(ReadSweep(scratch / "new"));
  EXPECT_FALSE(ReadSweep(scratch.path()));
  WriteText(scratch / "run.lock", "");
  EXPECT_FALSE(ReadSweep(scratch.path())) << "a sweep was killed at its first line";
  SweepRecord record = Rates();
  record.jobs = 2;
  record.share = {"budget=1GiB", "threads=1"};
  WriteSweep(scratch.path(), record);
  const auto read = ReadSweep(scratch.path());
  ASSERT_TRUE(read);
  EXPECT_EQ(ToJson(*read), ToJson(record));
  RequireSameSweep(*read, record, scratch.path());
}

// Its share goes into commands that have the user's rights, and its folders are written to.
TEST(SweepRecord, OfSomebodyElseBringsNothingIntoACommandAndLeadsNowhereElse) {
  const ScratchDirectory scratch;
  const auto refusal = [&](const SweepRecord& record) {
    WriteSweep(scratch.path(), record);
    return MessageOf<InputError>([&] { ReadSweep(scratch.path()); });
  };
  for (const char* share : {"--allow-on-event", "on_event=[\"/x\"]", "budget=--plugin-path",
                            "threads=", "threads=1x", "plugin_path=[\"/evil\"]", ""}) {
    SweepRecord record = Rates();
    record.share = {share};
    EXPECT_TRUE(Has(refusal(record), "not as it was written")) << share;
  }
  for (const char* folder : {"..", ".", "/tmp", "a/b", "../../x"}) {
    SweepRecord record = Rates();
    record.groups.front().folder = folder;
    EXPECT_TRUE(Has(refusal(record), "not as it was written")) << folder;
  }
}

TEST(SweepRecord, OfANumberThatNoMedleyWroteIsNotAsItWasWritten) {
  const ScratchDirectory scratch;
  WriteSweep(scratch.path(), Rates());
  EXPECT_EQ(MessageOf<InputError>([&] { ReadSweep(scratch.path()); }), "");
  auto json = nlohmann::ordered_json::parse(ReadText(scratch / "sweep.json"));
  for (const nlohmann::ordered_json& format : {nlohmann::ordered_json(0), nlohmann::ordered_json("1")}) {
    json["format"] = format;
    WriteText(scratch / "sweep.json", json.dump());
    EXPECT_TRUE(Has(MessageOf<InputError>([&] { ReadSweep(scratch.path()); }), "not as it was written"));
  }
}

TEST(SweepRecord, ADirectoryOfOtherThingsIsRefused) {
  const ScratchDirectory scratch;
  const auto refusal = [](const fs::path& path) {
    return MessageOf<InputError>([&] { static_cast<void>(ReadSweep(path)); });
  };
  WriteText(scratch / "notes\x1b.txt", "mine");
  EXPECT_TRUE(Has(refusal(scratch.path()), "holds other things: notes\\x1b.txt. Choose a new"))
      << refusal(scratch.path());
  WriteText(scratch / "sweep.json", "{\"format\": 1}");
  EXPECT_TRUE(Has(refusal(scratch.path()), "sweep.json is not as it was written")) << refusal(scratch.path());
  WriteText(scratch / "sweep.json", "{\"format\": 2}");
  EXPECT_TRUE(Has(refusal(scratch.path()),
                  "is of a newer medley (format 2, this one reads 1). Use that medley, or another --out"))
      << refusal(scratch.path());
  fs::create_directory(scratch / "run");
  WriteText(scratch / "run/config.resolved.json", "{\"model\": \"m\", \"weights\": \"w\"}");
  for (const char* below : {"run", "run/below"})
    EXPECT_TRUE(Has(refusal(scratch / below), "whose files are its own")) << refusal(scratch / below);
  WriteText(scratch / "file", "");
  EXPECT_NE(refusal(scratch / "file"), "");
}

TEST(SweepRecord, AnotherCommandMayAddValuesAndSeedsAndNothingElse) {
  const SweepRecord begun = Rates();
  const auto refusal = [&](const SweepRecord& asked) {
    return MessageOf<InputError>([&] { RequireSameSweep(begun, asked, "dir"); });
  };
  SweepRecord more = Rates();
  more.keys[0].values = {"1", "0.0001", "0.001"};
  more.seeds = {3, 2, 1};
  more.files["weights /new.json"] = "9";
  EXPECT_EQ(refusal(more), "");

  SweepRecord less = Rates();
  less.keys[0].values = {"1e-4", "1"};
  less.seeds = {2};
  less.fixed = {"steps=20"};
  less.jobs = 2;
  less.files["config"] = "3";
  less.keys.push_back({"rows", {"1", "2"}});
  const std::string words = refusal(less);
  for (const char* part : {"the config has another text", "optimizer.learning_rate lacks its 1e-3",
                           "one value of rows", "the seeds lack its 1;", "begun with steps=10",
                           "begun without steps=20", "begun with --jobs 1", "\n  medley sweep a.json\n"})
    EXPECT_TRUE(Has(words, part)) << part << "\n" << words;
  SweepRecord none = Rates();
  none.keys.clear();
  EXPECT_TRUE(Has(refusal(none), "learning_rate lacks its 1e-3, 1e-4")) << refusal(none);
}

// A resume trains by the run's own copy of its weights.
TEST(FirstWeights, AreThoseThatARunBeganWithAfterAResumeToo) {
  const ScratchDirectory scratch;
  const auto named = [&](nlohmann::ordered_json config) {
    NameFirstWeights(scratch.path(), config);
    return config.dump();
  };
  EXPECT_EQ(named({{"weights", "a"}}), R"({"weights":"a"})") << "no run";
  WriteText(scratch / "config.resolved.json", R"({"model": "m", "weights": "w", "seed": 1})");
  EXPECT_EQ(named({{"weights", "a"}}), R"({"weights":"a"})") << "its only one";
  WriteText(scratch / "config.resolved.1.json", R"({"model": "m", "weights": "own", "seed": 2})");
  EXPECT_EQ(named({{"weights", "own"}, {"seed", 2}}), R"({"weights":"w","seed":2})");
}

TEST(RunPace, IsThatOfTheEndOfALogHoweverLongItIs) {
  const ScratchDirectory scratch;
  EXPECT_EQ(PaceOf(scratch.path()).step, 0);
  std::string log;
  for (int step = 1; step <= 5000; ++step)
    log += "{\"step\": " + std::to_string(step) + ", \"seconds\": " + (step <= 4900 ? "9" : "0.5") +
           ", \"text\": \"" + std::string(60, 'x') + "\"}\n";
  WriteText(scratch / "timing.jsonl", log + "{\"step\": 5001, \"sec");
  EXPECT_EQ(PaceOf(scratch.path()).step, 5000);
  EXPECT_EQ(PaceOf(scratch.path()).seconds, 0.5);
  WriteText(scratch / "timing.jsonl", "no json\n{\"step\": 1, \"seconds\": 2}\n[]\n");
  EXPECT_EQ(PaceOf(scratch.path()).step, 1);
  EXPECT_EQ(PaceOf(scratch.path()).seconds, 2);
}

}  // namespace
}  // namespace medley
