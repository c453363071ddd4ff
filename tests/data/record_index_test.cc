#include <medley/data/record_index.h>

#include <string>
#include <vector>

#include <medley/base/interrupt.h>
#include <medley/data/bad_records.h>
#include <medley/data/record_scanner.h>

#include "data_files.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using Format = RecordIndex::Format;

class Records : public DataFiles {
 protected:
  static std::vector<std::string> All(const RecordIndex& index) {
    std::vector<std::string> records;
    for (std::int64_t record = 0; record < index.size(); ++record) records.push_back(index.Read(record));
    return records;
  }
  std::vector<fs::path> Cached() const {
    std::vector<fs::path> files;
    if (!fs::exists(folder_ / "cache")) return files;
    for (const auto& entry : fs::recursive_directory_iterator(folder_ / "cache")) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
    return files;
  }
};

TEST_F(Records, ALineIsARecordUnlessItIsBlank) {
  const fs::path file = Write("a", "\n one\r\n\t\n\ntwo \nthree");
  const RecordIndex index(file, Format::kLines);
  EXPECT_EQ(All(index), (std::vector<std::string>{" one", "two ", "three"}));
  EXPECT_EQ(index.LineOf(0), 2);
  EXPECT_EQ(index.LineOf(1), 5);
  EXPECT_EQ(index.LineOf(2), 6);
}

TEST_F(Records, OfCsvHoldLineEndsInQuotes) {
  const RecordIndex index(Write("a", "x,y\n\"a\nb\"\"\n\",1\n\nc,2\n"), Format::kCsv);
  EXPECT_EQ(All(index), (std::vector<std::string>{"x,y", "\"a\nb\"\"\n\",1", "c,2"}));
  EXPECT_EQ(index.LineOf(2), 6);
}

TEST_F(Records, OfAJsonListAreItsElementsOverAnyLines) {
  const RecordIndex index(Write("a", "\n[ {\"x\": \"],}\\\"\"},\n\n [1,\n{}], -5 ,\"\\\\\"\n]\n"),
                          Format::kElements);
  EXPECT_EQ(All(index), (std::vector<std::string>{R"({"x": "],}\""})", "[1,\n{}]", "-5", R"("\\")"}));
  EXPECT_EQ(index.LineOf(0), 2);
  EXPECT_EQ(index.LineOf(1), 4);
  EXPECT_EQ(index.LineOf(3), 5);
  EXPECT_EQ(All(RecordIndex(Write("b", "{\"x\":\n[1, 2]}\n"), Format::kElements)),
            (std::vector<std::string>{"{\"x\":\n[1, 2]}"}));
  EXPECT_EQ(RecordIndex(Write("c", " [ ] "), Format::kElements).size(), 0);
  EXPECT_EQ(RecordIndex(Write("d", ""), Format::kElements).size(), 0);
}

TEST_F(Records, AreNotLookedForByARunThatIsToStop) {
  const fs::path file = Write("a", "one\n");
  RequestInterrupt();
  EXPECT_THROW(RecordIndex(file, Format::kLines), Interrupted);
  ForgetInterrupt();
  EXPECT_TRUE(Cached().empty());
}

TEST_F(Records, OfAnEmptyFileAreNone) {
  EXPECT_EQ(RecordIndex(Write("a", ""), Format::kLines).size(), 0);
  EXPECT_EQ(RecordIndex(Write("b", "\n \n"), Format::kCsv).size(), 0);
}

TEST_F(Records, AByteOrderMarkIsNoPartOfTheFirst) {
  EXPECT_EQ(All(RecordIndex(Write("a", "\xef\xbb\xbfx\ny\n"), Format::kLines)),
            (std::vector<std::string>{"x", "y"}));
}

// Pieces of the scan are 4 MiB: a record lies over two of their ends.
TEST_F(Records, MayBeLongerThanAPieceOfTheScan) {
  const std::string longest(9 << 20, 'a');
  const std::vector<std::string> records = {"first", longest, "\"" + longest + "\n\"", "last"};
  std::string text;
  for (const std::string& record : records) text += record + "\n";
  EXPECT_EQ(All(RecordIndex(Write("a", text), Format::kCsv)), records);
  const std::vector<std::string> elements = {"1", "\"" + longest + "\"", "[" + longest + "]", "2"};
  text = "[" + elements[0];
  for (std::size_t i = 1; i < elements.size(); ++i) text += ",\n" + elements[i];
  EXPECT_EQ(All(RecordIndex(Write("b", text + "]"), Format::kElements)), elements);
}

// Of a file that is long enough to be kept.
const std::string& Long() {
  static const std::string record(static_cast<std::size_t>(RecordIndex::kLeastKept), 'x');
  return record;
}

TEST_F(Records, OfManyShortFilesLeaveNothingInTheCache) {
  for (int file = 0; file < 30; ++file)
    EXPECT_EQ(RecordIndex(Write("a" + std::to_string(file), "one\n"), Format::kLines).size(), 1);
  EXPECT_TRUE(Cached().empty());
}

TEST_F(Records, AreKeptOpenForTheNextWhoOpensTheFileAsItIs) {
  const auto open = [&](const fs::path& file, Format format) { return RecordIndex::Open(file, format, {}); };
  const fs::path file = Write("a", "one\ntwo\n"), other = Write("b", "one\ntwo\n");
  const auto first = open(file, Format::kLines);
  EXPECT_EQ(open(file, Format::kLines), first);
  EXPECT_NE(open(file, Format::kCsv), first);
  EXPECT_NE(open(other, Format::kLines), first);
  Write("a", "new\n");
  EXPECT_EQ(All(*open(file, Format::kLines)), (std::vector<std::string>{"new"}));
  fs::rename(other, file);
  EXPECT_EQ(All(*open(file, Format::kLines)), (std::vector<std::string>{"one", "two"}));
  fs::remove(file);
  EXPECT_EQ(Refusal([&] { open(file, Format::kLines); }).substr(0, 12), "no such file");
}

TEST_F(Records, OfMoreFilesThanAProcessMayHaveOpenAreAllRead) {
  const auto open_files = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  const auto before = open_files();
  for (std::size_t file = 0; file < RecordIndex::kMostOpen + 40; ++file) {
    const std::string name = "a" + std::to_string(file);
    EXPECT_EQ(RecordIndex::Open(Write(name, name + "\n"), Format::kLines, {})->Read(0), name);
  }
  EXPECT_LE(open_files() - before, static_cast<std::ptrdiff_t>(RecordIndex::kMostOpen));
}

TEST_F(Records, AreFoundOnceAndThenTakenFromTheCache) {
  const fs::path file = Write("a", "one\n" + Long() + "\n");
  const RecordIndex first(file, Format::kLines);
  ASSERT_EQ(Cached().size(), 1U);
  const auto made = fs::last_write_time(Cached()[0]);
  EXPECT_EQ(All(RecordIndex(file, Format::kLines)), (std::vector<std::string>{"one", Long()}));
  EXPECT_EQ(fs::last_write_time(Cached()[0]), made);
  const RecordIndex other(file, Format::kCsv);
  EXPECT_EQ(Cached().size(), 2U) << "another format has other records";
}

TEST_F(Records, OfAChangedFileAreFoundAnew) {
  const fs::path file = Write("a", "one\ntwo\n");
  const RecordIndex before(file, Format::kLines);
  const auto time = fs::last_write_time(file);
  Write("a", "one\n\nnew\n");
  EXPECT_EQ(All(RecordIndex(file, Format::kLines)), (std::vector<std::string>{"one", "new"}));
  // Same size, and whoever wrote it set the time back.
  Write("a", "o\nne\new\n");
  fs::last_write_time(file, time);
  EXPECT_EQ(All(RecordIndex(file, Format::kLines)), (std::vector<std::string>{"o", "ne", "ew"}));
}

TEST_F(Records, ADamagedCacheIsMadeAgain) {
  const fs::path file = Write("a", "one\n" + Long() + "\n");
  const RecordIndex before(file, Format::kLines);
  const auto size = fs::file_size(Cached()[0]);
  for (std::uintmax_t at = 0; at < size; ++at) {
    {
      std::fstream cached(Cached()[0], std::ios::binary | std::ios::in | std::ios::out);
      cached.seekg(static_cast<std::streamoff>(at));
      const char byte = static_cast<char>(cached.get() ^ 4);
      cached.seekp(static_cast<std::streamoff>(at));
      cached.put(byte);
    }
    ASSERT_EQ(All(RecordIndex(file, Format::kLines)), (std::vector<std::string>{"one", Long()})) << at;
  }
  for (std::uintmax_t length = 0; length < size; ++length) {
    fs::resize_file(Cached()[0], length);
    ASSERT_EQ(All(RecordIndex(file, Format::kLines)), (std::vector<std::string>{"one", Long()})) << length;
  }
}

TEST_F(Records, ACacheThatCannotBeWrittenCostsOnlyTime) {
  const fs::path file = Write("a", Long() + "\n");
  Write("cache", "a file where the folder should be");
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(All(RecordIndex(file, Format::kLines)), (std::vector<std::string>{Long()}));
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("are looked for again at the next start"),
            std::string::npos);
}

// What a check was asked, and in which lines.
struct Asked {
  std::vector<std::string> records;
  std::vector<std::int64_t> lines;

  RecordCheck Check(const std::string& bad = "none") {
    return {.name = "asked", .problem = [this, bad](std::string_view record, std::int64_t line) {
              records.emplace_back(record);
              lines.push_back(line);
              return record == bad ? "line " + std::to_string(line) + " is bad" : std::string();
            }};
  }
};

void ExpectEachOnce(const RecordIndex& index, const Asked& asked) {
  ASSERT_EQ(std::ssize(asked.records), index.size());
  for (std::int64_t record = 0; record < index.size(); ++record) {
    const auto at = static_cast<std::size_t>(record);
    EXPECT_TRUE(asked.records[at] == index.Read(record)) << record;
    EXPECT_EQ(asked.lines[at], index.LineOf(record)) << record;
  }
}

TEST_F(Records, AreCheckedEachOnceAsTheyAreRead) {
  for (const Format format : {Format::kLines, Format::kCsv}) {
    const fs::path file =
        Write("a", "\xef\xbb\xbfone\n\n \t\n  two \r\n\"a\n\nb\"\"\n\",1\n\r\nlast" + Long());
    Asked asked, again;
    const RecordIndex index(file, format, asked.Check());
    ExpectEachOnce(index, asked);
    EXPECT_EQ(asked.records.size(), format == Format::kCsv ? 4U : 6U);
    const RecordIndex cached(file, format, again.Check());
    EXPECT_EQ(cached.size(), index.size());
    EXPECT_TRUE(again.records.empty()) << "the file was read through";
  }
}

// Ends of pieces come to lie everywhere in a blank line, in the blanks before a record, and in a record.
TEST_F(Records, AreCheckedAsAWholeAlsoWhereAPieceEnds) {
  for (std::size_t shift = 0; shift < 14; ++shift) {
    const fs::path file = Write("a", "one\n" + std::string(kScanPiece - 12 + shift, ' ') +
                                         "\n  two \"x\ny\"\r\n" + std::string(2 * kScanPiece, 'z') + "\n4");
    for (const Format format : {Format::kLines, Format::kCsv}) {
      Asked asked;
      ExpectEachOnce(RecordIndex(file, format, asked.Check()), asked);
    }
  }
}

TEST_F(Records, OfWhichSomeAreBadAreNotKeptAndAllAreTold) {
  const fs::path file = Write("a", "bad\ngood\nbad\n");
  for (int time = 0; time < 2; ++time) {
    Asked asked;
    EXPECT_EQ(Refusal([&] { RecordIndex(file, Format::kLines, asked.Check("bad")); }),
              "2 records are not well formed\n  line 1 is bad\n  line 3 is bad");
    EXPECT_EQ(asked.records.size(), 3U);
    EXPECT_TRUE(Cached().empty());
  }
}

TEST_F(Records, AreNotCheckedWhereTheyAreEndless) {
  const fs::path file = Write("a", "x\n\"" + std::string(kMostRecordBytes, 'y') + "\nz\n");
  Asked lines;
  EXPECT_EQ(Refusal([&] { RecordIndex(file, Format::kLines, lines.Check()); }), "a:2: longer than 64 MiB");
  EXPECT_EQ(lines.records, (std::vector<std::string>{"x", "z"}));
  Asked csv;
  EXPECT_EQ(Refusal([&] { RecordIndex(file, Format::kCsv, csv.Check()); }),
            "a:2: longer than 64 MiB; is a quote not closed?");
}

TEST_F(Records, AreNotCheckedByARunThatIsToStop) {
  Asked asked;
  RequestInterrupt();
  EXPECT_THROW(RecordIndex(Write("a", "one\n"), Format::kLines, asked.Check()), Interrupted);
  ForgetInterrupt();
  EXPECT_TRUE(asked.records.empty());
}

TEST_F(Records, OfSeveralFilesAreToldTogether) {
  RecordProblems problems;
  problems.Throw();
  for (const std::string file : {"a", "b"}) {
    RecordProblems of_file;
    for (int line = 1; line <= 15; ++line) of_file.Add(file + ":" + std::to_string(line));
    try {
      of_file.Throw();
      ADD_FAILURE();
    } catch (const BadRecords& bad) {
      problems.Add(bad);
    }
  }
  const std::string words = Refusal([&] { problems.Throw(); });
  EXPECT_TRUE(words.starts_with("30 records are not well formed\n  a:1\n")) << words;
  EXPECT_TRUE(words.ends_with("\n  b:5\n  and 10 more")) << words;
}

TEST_F(Records, AFileThatIsNotThereIsNamed) {
  Write("data.jsonl", "");
  EXPECT_EQ(Refusal([&] { RecordIndex(folder_ / "dato.jsonl", Format::kLines); }),
            "no such file: dato.jsonl; did you mean 'data.jsonl'?");
}

}  // namespace
}  // namespace medley
