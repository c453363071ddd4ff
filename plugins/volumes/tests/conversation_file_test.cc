// Conversations that are written, and read again.
#include "data/conversation_file.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include <medley/base/error.h>

#include "data/source.h"
#include "tests/models.h"

namespace medley_volumes {
namespace {

namespace fs = std::filesystem;

class File : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "volumes_XXXXXX";
    folder_ = mkdtemp(pattern.data());
    setenv("XDG_CACHE_HOME", (folder_ / "cache").c_str(), 1);
    const auto make = [&](medley::Row& row) { return MultimodalExample(row, kGeometry, 0.5); };
    rows_ = Rows(12, make);
    WriteConversations(folder_, "rows", rows_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path Path() const { return folder_ / "rows.jsonl"; }
  void Replace(const std::string& from, const std::string& to) const {
    std::ostringstream text;
    text << std::ifstream(Path()).rdbuf();
    std::string all = text.str();
    const std::size_t at = all.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    all.replace(at, from.size(), to);
    std::ofstream(Path()) << all;
  }
  // What reading the first row, scans and all, says.
  std::string Refusal() const {
    try {
      const ByteTokenizer tokenizer;
      const Limits limits{.geometry = kGeometry,
                          .volume_tokens = 8,
                          .series_tokens = 4,
                          .positions = 900,
                          .text = 400,
                          .learned = 90};
      Collator(tokenizer, limits, medley::FileTexts(tokenizer, false))
          .LineOf(ConversationFile(Path()).Read(0));
      return "it was read";
    } catch (const medley::InputError& error) {
      return error.what();
    }
  }
  void ExpectRefused(const std::string& from, const std::string& to, const std::string& what) {
    Replace(from, to);
    EXPECT_NE(Refusal().find(what), std::string::npos) << Refusal() << "\nexpected: " << what;
    WriteConversations(folder_, "rows", rows_);
  }

  static constexpr Geometry kGeometry{8, 4, 4};
  fs::path folder_;
  std::vector<Conversation> rows_;
};

TEST_F(File, GivesBackWhatWasWritten) {
  const ConversationFile file(Path());
  ASSERT_EQ(file.size(), 12);
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    const Conversation read = file.Read(static_cast<std::int64_t>(row));
    EXPECT_EQ(read.subject, rows_[row].subject);
    EXPECT_EQ(read.one_scan, rows_[row].one_scan);
    ASSERT_EQ(read.turns.size(), rows_[row].turns.size());
    for (std::size_t turn = 0; turn < read.turns.size(); ++turn) {
      const auto& items = read.turns[turn].items;
      const auto& written = rows_[row].turns[turn].items;
      EXPECT_EQ(read.turns[turn].role, rows_[row].turns[turn].role);
      ASSERT_EQ(items.size(), written.size());
      for (std::size_t i = 0; i < items.size(); ++i) {
        ASSERT_EQ(items[i].index(), written[i].index());
        if (const auto* text = std::get_if<std::string>(&items[i])) {
          EXPECT_EQ(*text, std::get<std::string>(written[i]));
          continue;
        }
        const Scan &scan = std::get<Scan>(items[i]), &made = std::get<Scan>(written[i]);
        EXPECT_EQ(scan.modality, made.modality);
        EXPECT_TRUE(scan.voxels().equal(made.voxels()));
      }
    }
  }
}

TEST_F(File, KeepsSubjectsApartAndShowsEachOncePerEpoch) {
  const Limits limits{.geometry = kGeometry, .volume_tokens = 8, .series_tokens = 4};
  const FileConversations source(Path(), {.asked = 3}, limits, {});
  const auto subjects = [&](medley::Split split, std::int64_t count) {
    std::multiset<std::string> seen;
    medley::ForEachRow({.seed = 1, .begin = 0, .count = count, .split = split},
                       [&](medley::Row& row) { seen.insert(source.Draw(row).subject); });
    return seen;
  };
  const auto subjects_in_all = std::ssize(ConversationFile(Path()).by_subject());
  const std::int64_t kept = source.Items()->size(medley::Split::kHeldOut);
  EXPECT_EQ(source.Items()->size(medley::Split::kTraining), subjects_in_all - kept);
  const auto training = subjects(medley::Split::kTraining, subjects_in_all - kept),
             held_out = subjects(medley::Split::kHeldOut, kept);
  EXPECT_EQ(std::set<std::string>(held_out.begin(), held_out.end()).size(), held_out.size());
  for (const std::string& subject : held_out) EXPECT_EQ(training.count(subject), 0u);
  EXPECT_EQ(std::set<std::string>(training.begin(), training.end()).size(), training.size());
  medley::RowRange longest{.count = 1, .longest = true};
  medley::Row row(longest, 0);
  EXPECT_EQ(CountScans(source.Draw(row)).series, 1);
}

// Each conversation is then an item, of which evaluations show those of the other file.
TEST_F(File, AValidationFileIsHeldOutWhole) {
  const std::vector<Conversation> others =
      Rows(16, [&](medley::Row& row) { return MultimodalExample(row, kGeometry, 0.5); });
  const fs::path other = WriteConversations(folder_, "other", {others.begin() + 10, others.end()});
  const Limits limits{.geometry = kGeometry, .volume_tokens = 8, .series_tokens = 4};
  medley::DataRules rules;
  const FileConversations source(Path(), {.asked = 3, .task = "t", .rules = &rules}, limits, {}, other);
  EXPECT_EQ(source.Items()->size(medley::Split::kTraining), 12);
  EXPECT_EQ(source.Items()->shows(), medley::ItemStream::Shows::kWholeItem);
  std::multiset<std::string> shown, expected;
  medley::ForEachRow({.seed = 1, .begin = 0, .count = 6, .split = medley::Split::kHeldOut},
                     [&](medley::Row& row) { shown.insert(source.Draw(row).where()); });
  for (int line = 1; line <= 6; ++line) expected.insert(other.string() + ":" + std::to_string(line));
  EXPECT_EQ(shown, expected);
  EXPECT_EQ(rules.TakeWords().at(0).rfind("'t' is evaluated on 6 items of a file of their own", 0), 0U);
  EXPECT_NE(source.Answers(), nullptr);
}

TEST(TrainingAnswers, AreThoseToAQuestionOrOfAllWhereItIsNew) {
  const auto last = [](const std::string& question, const std::string& answer) {
    return LastWordsOf({.subject = "",
                        .turns = {{Role::kUser, {" earlier"}},
                                  {Role::kAssistant, {" yes"}},
                                  {Role::kUser, {" before it", Scan{}, question, "?"}},
                                  {Role::kAssistant, {answer}}}});
  };
  TrainingAnswers answers;
  for (const char* answer : {"small", "large", "large"}) answers.Add(last("how large", answer));
  for (int i = 0; i < 4; ++i) answers.Add(last("alike", "no"));
  EXPECT_EQ(answers.Chance(last("how large", "").question), 0.5);
  EXPECT_TRUE(answers.IsMostFrequent(last("how large", "large")));
  EXPECT_FALSE(answers.IsMostFrequent(last("how large", "no")));
  EXPECT_EQ(answers.Chance(last("alike", "").question), 1);
  EXPECT_TRUE(answers.IsMostFrequent(last("new", "no")));
  EXPECT_EQ(answers.Chance(last("new", "").question), 1.0 / 3);
}

TEST(LastTexts, StandBehindTheLastScanOrBeforeItWhereNothingDoes) {
  const auto asked = [](const std::vector<Content>& items) {
    std::string words;
    const auto [begin, end] = LastTexts(items);
    for (std::size_t i = begin; i < end; ++i) words += std::get<std::string>(items[i]) + "|";
    return words;
  };
  EXPECT_EQ(asked({Scan{}, "and", "this?"}), "and|this?|");
  EXPECT_EQ(asked({"first", Scan{}, "and this?", Scan{}}), "and this?|");
  EXPECT_EQ(asked({"what?", Scan{}, Scan{}, "\n"}), "what?|");
  EXPECT_EQ(asked({"alone"}), "alone|");
  EXPECT_EQ(asked({Scan{}, " "}) + asked({}), "");
}

// Of those who are compared one would be in both parts else.
TEST(SubjectGroups, HoldWhoStandTogetherAndThoseThatTheyStandWith) {
  SubjectGroups groups;
  const std::vector<std::vector<std::string>> conversations = {{"d"}, {"b", "a"}, {"c"},
                                                               {"b"}, {"e", "c"}, {"a"}};
  for (const auto& subjects : conversations) groups.Add(subjects);
  std::string told;
  for (const SubjectGroups::Group& group : groups.All()) {
    told += group.name + ":";
    for (const std::int64_t conversation : group.conversations) told += " " + std::to_string(conversation);
    told += "\n";
  }
  EXPECT_EQ(told, "d: 0\na b: 1 3 5\nc e: 2 4\n");
  groups.Add({"c", "d", "a"});
  EXPECT_EQ(std::ssize(groups.All()), 1);
}

TEST_F(File, OfADrawnConversationIsKnownWhatItSaysItself) {
  const Limits limits{.geometry = kGeometry, .volume_tokens = 8, .series_tokens = 4};
  WriteConversations(folder_, "others", {rows_[3], rows_[5]});
  for (const fs::path& validation : {fs::path(), folder_ / "others.jsonl"}) {
    const FileConversations source(Path(), {.asked = 3}, limits, {}, validation);
    for (const medley::Split split : {medley::Split::kTraining, medley::Split::kHeldOut}) {
      const medley::RowRange range{.seed = 1, .begin = 0, .count = 30, .split = split};
      for (std::int64_t number = 0; number < range.count; ++number) {
        medley::Row drawn(range, number), asked(range, number);
        const Conversation conversation = source.Draw(drawn);
        const Known known = source.KnownOf(asked);
        const LastWords last = LastWordsOf(conversation);
        EXPECT_EQ(known.subject, conversation.subject);
        EXPECT_EQ(known.last.question, last.question);
        EXPECT_EQ(known.last.answer, last.answer);
      }
    }
  }
}

TEST_F(File, SaysWhereALineIsWrong) {
  ExpectRefused("\"role\":\"user\"", "\"role\":\"nurse\"",
                "rows.jsonl:1: turns[0].role: expected \"user\" or \"assistant\" or \"human\" or \"gpt\" or "
                "\"system\", found \"nurse\"");
  ExpectRefused("\"modality\":\"volume\"", "\"modality\":\"scan\"",
                "rows.jsonl:1: turns[0].content[0].modality: expected");
  ExpectRefused("\"shape\":[8,8,8]", "\"shape\":[8,8]", "content[0].shape: expected 3 numbers, found 2");
  ExpectRefused("\"shape\":[4,4,4,4]", "\"shape\":[1048576,1048576,1048576,16]",
                ".shape: more voxels than a file can have");
  ExpectRefused("{\"image\"", "{\"picture\"", "content[0]: expected either \"text\" or \"image\"");
  ExpectRefused("{\"content\"", "{\"contents\"", "turns[0]: \"content\" is missing");
}

TEST_F(File, ATruncatedScanOrOneOfAnotherShapeOrWithoutValuesIsRefused) {
  const fs::path scan = folder_ / "rows-0-1.raw";
  fs::resize_file(scan, 100);
  EXPECT_NE(Refusal().find("rows-0-1.raw has 100 bytes; its \"shape\" wants 2048"), std::string::npos)
      << Refusal();
  EXPECT_NE(Refusal().find("rows.jsonl:1: turns[0].content[0].image: "), std::string::npos) << Refusal();
  fs::remove(scan);
  EXPECT_NE(Refusal().find("rows-0-1.raw cannot be read: "), std::string::npos) << Refusal();
  WriteConversations(folder_, "rows", rows_);
  ExpectRefused("\"shape\":[8,8,8]", "\"shape\":[8,4,16]",
                "a volume is [8, 4, 16], the model wants [8, 8, 8]");
  std::fstream file(scan, std::ios::in | std::ios::out | std::ios::binary);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  file.seekp(4 * 17);
  file.write(reinterpret_cast<const char*>(&nan), sizeof nan);
  file.close();
  EXPECT_NE(Refusal().find("not finite (voxel 17 of 512"), std::string::npos) << Refusal();
}

// All but values is checked when the file is opened, whichever conversation is wrong.
TEST_F(File, EveryConversationIsCheckedBeforeTheFirstIsRead) {
  const auto expect_refused = [&](const std::string& what) {
    try {
      const ConversationFile file(Path());
      ADD_FAILURE() << "it was read; expected: " << what;
    } catch (const medley::InputError& error) {
      EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
    }
  };
  std::vector<Conversation> rows = rows_;
  rows[7].turns.pop_back();
  WriteConversations(folder_, "rows", rows);
  expect_refused("rows.jsonl:8: turns: it ends without an assistant's turn");
  rows = rows_;
  rows[8].turns[0].items.insert(rows[8].turns[0].items.begin(), 3, rows[8].turns[0].items[0]);
  WriteConversations(folder_, "rows", rows);
  expect_refused("rows.jsonl:9: turns: ");
  expect_refused(" scans; a conversation has at most 4");
  WriteConversations(folder_, "rows", rows_);
  fs::resize_file(folder_ / "rows-9-2.raw", 2052);
  expect_refused("rows.jsonl:10: turns[0].content[1].image: ");
}

TEST_F(File, AFolderIsListedOnceWhereLinksInItLoop) {
  const fs::path folder = folder_ / "lists", inner = folder / "inner";
  fs::create_directories(inner);
  const auto write = [&](const fs::path& file) {
    std::ofstream(file) << R"({"subject": "s", "turns": [{"role": "user", "content": "a"}, )"
                        << R"({"role": "assistant", "content": "b"}]})";
  };
  write(folder / "one.json");
  write(inner / "two.json");
  fs::create_directory_symlink(folder, folder / "itself");
  fs::create_directory_symlink(folder_, folder / "above");
  fs::create_directory_symlink(inner, inner / "deeper");
  EXPECT_EQ(ConversationFile(folder).size(), 2);
  fs::create_symlink("self.json", folder / "self.json");
  try {
    const ConversationFile file(folder);
    ADD_FAILURE() << "it was read";
  } catch (const medley::InputError& error) {
    EXPECT_NE(std::string(error.what()).find("self.json"), std::string::npos) << error.what();
  }
}

// A hundred thousand where sweeps are whole.
TEST_F(File, AFolderMayHaveVeryManyFiles) {
  const char* sweep = std::getenv("MEDLEY_SWEEP");
  const int count = sweep == nullptr || *sweep == 0 ? 100'000 : 3'000;
  const fs::path folder = folder_ / "lists";
  fs::create_directory(folder);
  for (int i = 0; i < count; ++i)
    std::ofstream(folder / (std::to_string(i) + ".json"))
        << R"({"subject": "s)" << i << R"(", "turns": [{"role": "user", "content": "a"}, )"
        << R"({"role": "assistant", "content": "b"}]})";
  const ConversationFile file(folder);
  EXPECT_EQ(file.size(), count);
  EXPECT_EQ(std::ssize(file.subjects()), count);
  EXPECT_EQ(file.Read(count - 1).turns.size(), 2U);
}

TEST_F(File, AnEmptyFileIsRefused) {
  std::ofstream(Path()) << "\n";
  EXPECT_NE(Refusal().find("has no conversation"), std::string::npos) << Refusal();
}

}  // namespace
}  // namespace medley_volumes
