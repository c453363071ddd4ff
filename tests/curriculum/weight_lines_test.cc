// weights.jsonl as bytes: whatever happens to them is seen, and no text that is not as it was written gets
// out.
#include <gtest/gtest.h>

#include <algorithm>

#include <medley/base/file_digest.h>
#include <medley/curriculum/weight_lines.h>

#include "tests/words.h"

namespace medley::testing {
namespace {

using Cause = WeightEntry::Cause;

WeightEntry LogEntry(std::int64_t number, std::int64_t step, Cause cause, const std::string& text = "") {
  return {.number = number,
          .step = step,
          .draw = 2 * step,
          .cause = cause,
          .name = "a",
          .words = cause == Cause::kRefusedEdit ? "no such task" : "",
          .before = {{"one", 0.1}},
          .after = {{"one", 0.25}, {"two", 0.75}},
          .owed = {{"one", -1.0 / 3}},
          .text = text};
}

// Two edits, one that was refused, and one that is due.
struct Whole {
  std::vector<WeightEntry> entries{LogEntry(1, 0, Cause::kStart, "{\"weights\": {\"one\": 1}}"),
                                   LogEntry(2, 4, Cause::kStage),
                                   LogEntry(3, 9, Cause::kEdit, "{\"weights\": {\"one\": 2}}\n"),
                                   LogEntry(3, 11, Cause::kRefusedEdit, "{\"weights\": {\"on"),
                                   LogEntry(4, 15, Cause::kEdit, "{\"weights\": {\"one\": 3}}")};
  std::vector<DueEdit> due{{21, "{\"weights\": {\"one\": 4}}"}};
  std::vector<std::string> lines;

  Whole() {
    for (const WeightEntry& entry : entries)
      lines.push_back(LineOf(entry, lines.empty() ? "" : lines.back()));
  }
  std::string Text() const { return TextOf(lines, due, LogEnd::kClosed); }
  // Up to the first edit.
  std::string Kept() const { return TextOf({lines.begin(), lines.begin() + 3}, {}, LogEnd::kOpen); }
};

std::vector<std::string> SplitLines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    lines.push_back(text.substr(at, text.find('\n', at) - at));
  return lines;
}

std::string Joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// As a medley wrote them whose lines had no sums.
std::string Old(const std::string& text) {
  std::vector<std::string> lines = SplitLines(text);
  for (std::string& line : lines) line = line.substr(0, line.find(",\"line_xxh3_128\"")) + "}";
  lines.pop_back();
  return Joined(lines);
}

bool IsBeginningOf(const std::vector<std::string>& some, const std::vector<std::string>& all) {
  return some.size() <= all.size() && std::equal(some.begin(), some.end(), all.begin());
}

// What a resume may take out of it: in order, and each with its step.
std::vector<std::string> EditsOf(const WeightLines& read) {
  std::vector<std::string> edits;
  for (const WeightEntry& entry : read.entries) {
    if (HasText(entry)) edits.push_back(std::to_string(entry.step) + " " + entry.text);
  }
  for (const DueEdit& edit : read.due) edits.push_back(std::to_string(edit.step) + " " + edit.text);
  return edits;
}

TEST(WeightLines, AreReadAsTheyWereWritten) {
  const Whole whole;
  const WeightLines read = ReadWeightLines(whole.Text());
  EXPECT_EQ(read.problem, "");
  EXPECT_TRUE(read.has_sums);
  EXPECT_EQ(read.lines, whole.lines);
  ASSERT_EQ(read.due.size(), 1u);
  EXPECT_EQ(read.due[0].text, whole.due[0].text);
  EXPECT_EQ(read.entries[3].cause, Cause::kRefusedEdit);
  EXPECT_EQ(read.entries[2].owed, whole.entries[2].owed);
  EXPECT_TRUE(IsWholeHistory(read.entries));
  EXPECT_EQ(ReadWeightLines(whole.Kept(), LogEnd::kOpen).problem, "");
  EXPECT_EQ(ReadWeightLines(TextOf({}, {}, LogEnd::kClosed)).problem, "");
}

TEST(WeightLines, EveryFlippedBitIsNamedAndOnlyWhatLiesBeforeItIsTrusted) {
  const Whole whole;
  const std::string text = whole.Text();
  for (std::size_t bit = 0; bit < 8 * text.size(); ++bit) {
    std::string damaged = text;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    const WeightLines read = ReadWeightLines(damaged);
    EXPECT_NE(read.problem, "") << bit;
    EXPECT_TRUE(IsBeginningOf(read.lines, whole.lines)) << bit;
  }
}

TEST(WeightLines, EveryCutIsNamed) {
  const Whole whole;
  const std::string text = whole.Text();
  for (std::size_t size = 0; size < text.size(); ++size) {
    const WeightLines read = ReadWeightLines(text.substr(0, size));
    EXPECT_NE(read.problem, "") << size;
    EXPECT_TRUE(IsBeginningOf(read.lines, whole.lines)) << size;
  }
  EXPECT_EQ(ReadWeightLines(text.substr(0, text.rfind("{\"cause\":\"end\""))).problem,
            "was cut: its end is missing");
}

TEST(WeightLines, ALineThatIsDroppedMovedDoubledOrPutInIsNamed) {
  const Whole whole;
  const std::vector<std::string> all = SplitLines(whole.Text());
  const auto expect_named = [&](const std::vector<std::string>& lines, const std::string& what) {
    const WeightLines read = ReadWeightLines(Joined(lines));
    EXPECT_NE(read.problem, "") << what;
    EXPECT_TRUE(IsBeginningOf(read.lines, whole.lines)) << what;
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::vector<std::string> lines = all;
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(i));
    expect_named(lines, "without line " + std::to_string(i));
    for (std::size_t j = i + 1; j < all.size(); ++j) {
      lines = all;
      std::swap(lines[i], lines[j]);
      expect_named(lines, std::to_string(i) + " and " + std::to_string(j));
    }
    for (std::size_t j = 0; j <= all.size(); ++j) {
      lines = all;
      lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(j), all[i]);
      // Behind itself, where the line before is the same, it has another sum.
      expect_named(lines, "line " + std::to_string(i) + " again at " + std::to_string(j));
    }
  }
  std::vector<std::string> lines = all;
  lines.push_back(
      R"({"number":5,"step":30,"draw":60,"cause":"edit","before":{},"after":{},"owed":{},"text":"{}"})");
  expect_named(lines, "an entry by hand");
  EXPECT_EQ(ReadWeightLines(Joined(lines)).problem, "was damaged: line 8 stands behind its end");
}

TEST(WeightLines, ALineThatThisMedleyDoesNotKnowIsNamedThoughItsSumIsRight) {
  const Whole whole;
  const std::string& before = whole.lines[0];
  const std::string sum_before = before.substr(before.size() - 34, 32),
                    body = R"({"number":2,"cause":"merge")";
  const std::string line = body + ",\"line_xxh3_128\":\"" + HashText(sum_before + body) + "\"}";
  const WeightLines read = ReadWeightLines(before + "\n" + line + "\n");
  EXPECT_EQ(read.newer, "line 2 has what this one does not know");
  EXPECT_EQ(read.problem, "is of a newer medley (line 2 has what this one does not know)");
  EXPECT_EQ(read.lines.size(), 1u);
  // Behind what a checkpoint kept, too.
  EXPECT_EQ(ContinueWeightLines(before + "\n", "damage\n" + line + "\n", "").newer, read.newer);
  EXPECT_EQ(ContinueWeightLines(before + "\n", "damage\n" + before + "\n", "").newer, "");
}

TEST(OldWeightLines, HaveTheSumsOfTheirTextsCompared) {
  const Whole whole;
  const std::string text = Old(whole.Text());
  const WeightLines read = ReadWeightLines(text);
  EXPECT_EQ(read.problem, "");
  EXPECT_FALSE(read.has_sums) << "what cannot be told is to be said";
  EXPECT_EQ(EditsOf(read), EditsOf(ReadWeightLines(whole.Text())));
  EXPECT_EQ(read.lines, whole.lines) << "they get sums";
  const std::vector<std::string> all = EditsOf(read);
  const auto is_one = [&](const std::string& edit) {
    return std::any_of(all.begin(), all.end(), [&](const std::string& other) {
      return other.substr(other.find(' ')) == edit.substr(edit.find(' '));
    });
  };
  std::size_t named = 0;
  for (std::size_t bit = 0; bit < 8 * text.size(); ++bit) {
    std::string damaged = text;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    const WeightLines after = ReadWeightLines(damaged);
    for (const std::string& edit : EditsOf(after)) EXPECT_TRUE(is_one(edit)) << bit << " " << edit;
    if (!after.problem.empty()) ++named;
  }
  EXPECT_GT(named, 8 * text.size() / 3);
}

// Older medleys gave sums to the texts of starts and edits, and none to edits that were due.
TEST(OldWeightLines, ATextOfAnEntryWithoutItsSumIsDamage) {
  const std::vector<std::string> all = SplitLines(Old(Whole().Text()));
  for (const std::size_t i : {0u, 4u, 5u}) {
    std::vector<std::string> lines = all;
    const std::size_t sum = lines[i].find("\"xxh3_128\"");
    lines[i].erase(sum, lines[i].find("\"text\"") - sum);
    const std::string number = std::to_string(i + 1);
    EXPECT_EQ(ReadWeightLines(Joined(lines)).problem,
              i == 5 ? "" : "was damaged: line " + number + " has a text without its sum");
  }
}

TEST(OldWeightLines, AMissingEntryIsNamedAndOneThatIsDamagedCostsNoOther) {
  const std::vector<std::string> all = SplitLines(Old(Whole().Text()));
  for (std::size_t i = 0; i < 5; ++i) {
    std::vector<std::string> lines = all;
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(i));
    const WeightLines read = ReadWeightLines(Joined(lines));
    const bool shows = i < 3;  // a refusal has no number of its own, and nothing stands behind the last one
    EXPECT_EQ(read.problem.empty(), !shows) << i;
    EXPECT_EQ(read.entries.size(), 4u) << i;
    EXPECT_EQ(IsWholeHistory(read.entries), !shows) << i;
    lines = all;
    lines[i].pop_back();
    EXPECT_EQ(ReadWeightLines(Joined(lines)).problem,
              "was damaged: line " + std::to_string(i + 1) + " cannot be read");
    EXPECT_EQ(ReadWeightLines(Joined(lines)).entries.size(), 4u);
  }
  std::vector<std::string> doubled = all;
  doubled.insert(doubled.begin() + 3, all[2]);
  EXPECT_EQ(ReadWeightLines(Joined(doubled)).problem,
            "was damaged: line 4 does not follow the one before it");
  EXPECT_EQ(ReadWeightLines(Joined(doubled)).entries.size(), 5u);
  EXPECT_EQ(ReadWeightLines(Joined(all) + all[0]).problem, "was damaged: line 7 is cut");
}

// The checkpoint was saved after three entries; two more, and one that is due, came later.
TEST(WeightLines, WhatACheckpointKeptGoesOnWithWhatIsWholeBehindIt) {
  const Whole whole;
  const std::string text = whole.Text(), kept = whole.Kept();
  const std::vector<std::string> all = EditsOf(ReadWeightLines(text));
  for (std::size_t byte = 0; byte < text.size(); ++byte) {
    std::string damaged = text;
    damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << (byte % 8)));
    const WeightLines read = ContinueWeightLines(kept, damaged, "{}");
    EXPECT_TRUE(IsBeginningOf(read.lines, whole.lines)) << byte;
    EXPECT_GE(read.lines.size(), 3u) << byte;
    EXPECT_TRUE(IsBeginningOf(EditsOf(read), all)) << byte;
    EXPECT_EQ(read.problem.empty(), byte + 1 < kept.size())
        << byte << " a cut end is a loss, what was kept is not";
    EXPECT_TRUE(!read.problem.empty() || EditsOf(read) == all) << byte;
  }
  for (const std::string file : {"", "\n", "another log\n"}) {
    const WeightLines read = ContinueWeightLines(kept, file, "{}");
    EXPECT_NE(read.problem, "");
    EXPECT_EQ(read.lines.size(), 3u);
  }
}

// The edit that was made last stands in the run's own file too.
TEST(WeightLines, ADamagedTextIsMendedByTheFileThatHasIt) {
  const Whole whole;
  const std::string text = whole.Text(), last = whole.due[0].text;
  const std::size_t begin = text.find("\"one\\\": 4");
  ASSERT_NE(begin, std::string::npos);
  std::string damaged = text;
  damaged[begin + 9] = '5';
  const WeightLines mended = ContinueWeightLines(whole.Kept(), damaged, last);
  EXPECT_EQ(mended.problem, "");
  EXPECT_EQ(EditsOf(mended), EditsOf(ReadWeightLines(text)));
  const WeightLines other = ContinueWeightLines(whole.Kept(), damaged, "{\"weights\": {\"one\": 5}}");
  EXPECT_NE(other.problem, "") << "the sum is of another text";
  EXPECT_TRUE(other.due.empty());
}

TEST(WeightLines, EditsThatWereDueWhenACheckpointWasSavedAreKept) {
  const Whole whole;
  const std::string kept = TextOf(whole.lines, whole.due, LogEnd::kOpen);
  for (const std::string& file : {std::string(), whole.Text().substr(0, kept.size() - 9)}) {
    const WeightLines read = ContinueWeightLines(kept, file, "{}");
    EXPECT_NE(read.problem, "");
    ASSERT_EQ(read.due.size(), 1u);
    EXPECT_EQ(read.due[0].text, whole.due[0].text);
  }
}

}  // namespace
}  // namespace medley::testing
