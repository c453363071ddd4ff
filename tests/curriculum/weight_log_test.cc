#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <tuple>

#include <medley/base/files.h>
#include <medley/curriculum/weight_log.h>

#include "config/config_testing.h"
#include "curriculum/mixer_fixtures.h"

namespace medley::testing {
namespace {

using Cause = WeightEntry::Cause;

WeightEntry Entry(std::int64_t step, Cause cause, std::string text = "") {
  const Mixer mixer(MixtureOf({1, 3}), SizesOf({10, 10}), 0);
  WeightEntry entry = EntryOf(mixer, step, cause, "a", {{"task0", 0.1}});
  entry.text = std::move(text);
  return entry;
}

std::vector<std::int64_t> StepsOf(const WeightLog& log) {
  std::vector<std::int64_t> steps;
  for (const WeightEntry& entry : log.entries()) steps.push_back(entry.step);
  return steps;
}

// A checkpoint keeps every line of the log, and an edit that is refused may be as large as a file may be.
TEST(WeightLog, OfARefusedEditKeepsWhatShowsWhichItWas) {
  const Workspace work;
  WeightLog log(work.path());
  log.Add(Entry(0, Cause::kStart, std::string(100'000, 'a')));
  const std::size_t before = log.Kept().size();
  std::string text = "{\"comment\": \"";
  while (text.size() < (1 << 20)) text += "\u00e4\u00f6";
  log.Add(Entry(3, Cause::kRefusedEdit, text));
  EXPECT_LT(log.Kept().size(), before + 10'000);
  const WeightLog again(work.path());
  EXPECT_EQ(again.problem(), "");
  EXPECT_EQ(again.Text()->size(), 100'000U) << "of others nothing is cut";
  const std::string& kept = again.entries()[1].text;
  EXPECT_TRUE(kept.starts_with("{\"comment\": \"\u00e4\u00f6")) << kept;
  EXPECT_TRUE(kept.ends_with("\u00e4... (and " + std::to_string(text.size() - 4095) + " bytes)") ||
              kept.ends_with("\u00f6... (and " + std::to_string(text.size() - 4096) + " bytes)"))
      << kept.substr(4000);
}

TEST(WeightLog, IsReadAsItWasWritten) {
  const Workspace work;
  WeightLog log(work.path());
  EXPECT_FALSE(log.LastText().has_value());
  log.Add(Entry(0, Cause::kStart, "first\n"));
  log.Add(Entry(4, Cause::kStage));
  log.Add(Entry(9, Cause::kEdit, "second"));
  log.Add(Entry(11, Cause::kRefusedEdit, "bad"));
  const WeightLog again(work.path());
  EXPECT_EQ(StepsOf(again), (std::vector<std::int64_t>{0, 4, 9, 11}));
  EXPECT_EQ(again.LastText(), "second");
  EXPECT_EQ(again.Text(), "second");
  EXPECT_EQ(again.number(), 3) << "what was refused does not count";
  EXPECT_EQ(again.NumberAt(8), 2);
  const WeightEntry& entry = again.entries()[1];
  EXPECT_EQ(entry.cause, Cause::kStage);
  EXPECT_EQ(entry.before.at("task0"), 0.1);
  EXPECT_EQ(entry.after.at("task1"), 0.75);
  EXPECT_EQ(entry.owed.at("task1"), 0);
  const auto line =
      nlohmann::json::parse(ReadFile(work / kWeightLog).substr(0, ReadFile(work / kWeightLog).find('\n')));
  EXPECT_EQ(line.at("cause"), "start");
  EXPECT_EQ(line.at("xxh3_128").get<std::string>().size(), 32u);
}

// However often a run is killed, resumed and killed again, no edit is lost and none comes twice.
TEST(WeightLog, EditsBehindTheCheckpointAreDueAgain) {
  const Workspace work;
  {
    WeightLog log(work.path());
    log.Add(Entry(0, Cause::kStart, "start"));
    log.Add(Entry(5, Cause::kEdit, "five"));
    log.Add(Entry(7, Cause::kStage));
    log.Add(Entry(15, Cause::kEdit, "fifteen"));
  }
  WeightLog log(work.path());
  log.GoBackTo(1);
  EXPECT_EQ(StepsOf(log), std::vector<std::int64_t>{0});
  EXPECT_EQ(log.Text(), "start");
  EXPECT_EQ(log.LastText(), "fifteen");
  ASSERT_EQ(log.due().size(), 2u);
  log.Add(Entry(4, Cause::kStage));  // written down with what is due
  WeightLog killed(work.path());
  killed.GoBackTo(1);
  ASSERT_EQ(killed.due().size(), 2u);
  EXPECT_EQ(killed.due()[0].text, "five");
  killed.SwapDue({killed.due().begin() + 1, killed.due().end()});
  killed.Add(Entry(5, Cause::kEdit, "five"));
  EXPECT_EQ(killed.number(), 2);
  WeightLog further(work.path());
  further.GoBackTo(2);
  EXPECT_EQ(StepsOf(further), (std::vector<std::int64_t>{0, 5}));
  ASSERT_EQ(further.due().size(), 1u);
  further.GoBackTo(1);
  ASSERT_EQ(further.due().size(), 2u);
  EXPECT_EQ(further.due()[1].text, "fifteen");
}

// Two of one step: one while the run went on, one while it rested after it. A checkpoint of that step may
// lie before, between or after them.
TEST(WeightLog, EditsOfOneStepAreToldApart) {
  const Workspace work;
  WeightLog log(work.path());
  log.Add(Entry(0, Cause::kStart, "start"));
  log.Add(Entry(5, Cause::kEdit, "a"));
  log.Add(Entry(5, Cause::kEdit, "b"));
  for (const auto& [number, text, due] : {std::tuple{1, "start", 2u}, {2, "a", 1u}, {3, "b", 0u}}) {
    WeightLog again(work.path());
    again.GoBackTo(number);
    EXPECT_EQ(again.Text(), text);
    EXPECT_EQ(again.due().size(), due);
    EXPECT_EQ(again.LastText(), "b");
  }
}

TEST(WeightLog, WhatIsNotAsItWasWrittenIsAProblemAndNoEntry) {
  const Workspace work;
  WeightLog(work.path()).Add(Entry(0, Cause::kStart, "start"));
  std::ofstream(work / kWeightLog, std::ios::app)
      << "{\"step\": 3}\nnonsense\n{\"step\": -1, \"cause\": \"edit\"}\n{\"st";
  const WeightLog log(work.path());
  EXPECT_EQ(StepsOf(log), std::vector<std::int64_t>{0});
  EXPECT_EQ(log.problem(), "was damaged: line 3 stands behind its end");
  EXPECT_EQ(WeightLog(work / "nowhere").problem(), "") << "a run that begins has none";
  const Workspace other;
  std::filesystem::create_directory(other / kWeightLog);
  EXPECT_EQ(WeightLog(other.path()).problem(), "is no plain file");
}

// What a checkpoint points into stays, whatever comes behind it.
TEST(WeightLog, TheMarkIsOfTheEntriesThatACheckpointWasSavedAfter) {
  const Workspace work;
  WeightLog log(work.path());
  log.Add(Entry(0, Cause::kStart, "start"));
  log.Add(Entry(5, Cause::kEdit, "five"));
  log.GoBackTo(1);
  log.Sync();
  const LogMark mark = log.mark();
  const std::string kept = log.Kept();
  EXPECT_EQ(MarkProblem(work / kWeightLog, mark), "");
  EXPECT_TRUE(Has(ReadFile(work / kWeightLog), "due edit")) << "what was gone back behind is due on the disk";
  log.SwapDue({});
  log.Add(Entry(5, Cause::kEdit, "five"));
  log.Add(Entry(6, Cause::kStage));
  EXPECT_EQ(MarkProblem(work / kWeightLog, mark), "");
  EXPECT_EQ(ContinueWeightLines(kept, log.FileText(), "").problem, "");
  WeightLog other(work.path(), WeightLines());
  other.Add(Entry(0, Cause::kStart, "start!"));
  EXPECT_NE(MarkProblem(work / kWeightLog, mark), "");
}

TEST(WeightLog, AnEntryThatWaitsIsWrittenBeforeACheckpointPointsAtIt) {
  const Workspace work;
  const std::filesystem::path later = work / "later";
  WeightLog log(later);
  EXPECT_ANY_THROW(log.Add(Entry(0, Cause::kStart, "start")));
  EXPECT_ANY_THROW(log.Sync());
  std::filesystem::create_directory(later);
  log.Sync();
  EXPECT_EQ(MarkProblem(later / kWeightLog, log.mark()), "");
  EXPECT_EQ(WeightLog(later).LastText(), "start");
}

// What was refused may be any bytes, and JSON has only UTF-8.
TEST(WeightLog, ARefusedTextThatIsNoUtf8IsNoDamage) {
  const Workspace work;
  WeightLog log(work.path());
  log.Add(Entry(0, Cause::kStart, "start"));
  log.Add(Entry(3, Cause::kRefusedEdit, "{\xff\xfe"));
  const WeightLog again(work.path());
  EXPECT_EQ(again.problem(), "");
  EXPECT_EQ(StepsOf(again), (std::vector<std::int64_t>{0, 3}));
}

TEST(WeightLog, AnEditThatCannotBeWrittenHasNotHappened) {
  const Workspace work;
  WeightLog log(work / "gone");
  EXPECT_ANY_THROW(log.Add(Entry(3, Cause::kEdit, "text")));
  EXPECT_TRUE(log.entries().empty());
}

TEST(RunWeights, OnlyARelativeSchemaBecomesAnotherText) {
  const auto moved = [](const std::string& text) { return WithAbsoluteSchema(text, "/configs/weights"); };
  EXPECT_EQ(moved("{\"$schema\": \"../schema/weights.schema.json\",\n \"weights\": {\"\xc3\xa9\": 1}}\n"),
            "{\"$schema\": \"/configs/schema/weights.schema.json\",\n \"weights\": {\"\xc3\xa9\": 1}}\n");
  EXPECT_EQ(
      moved("\xef\xbb\xbf{\"comment\": \"\xc3\xa9\xe2\x82\xac\",\t\"$schema\" : \"a\\\"b.json\" , \"x\":1}"),
      "\xef\xbb\xbf{\"comment\": \"\xc3\xa9\xe2\x82\xac\",\t\"$schema\" : \"/configs/weights/a\\\"b.json\" , "
      "\"x\":1}");
  for (const char* same : {"{\"$schema\": \"https://x.org/a.json\"}", "{\"$schema\": \"/a.json\"}",
                           "{\"weights\": {}}", "{\"$schema\": 3}", "no JSON"})
    EXPECT_EQ(moved(same), same);
}

}  // namespace
}  // namespace medley::testing
