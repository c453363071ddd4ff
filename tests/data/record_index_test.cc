#include <medley/data/record_index.h>

#include <string>
#include <vector>

#include <medley/base/interrupt.h>

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
}

TEST_F(Records, AreFoundOnceAndThenTakenFromTheCache) {
  const fs::path file = Write("a", "one\ntwo\n");
  const RecordIndex first(file, Format::kLines);
  ASSERT_EQ(Cached().size(), 1U);
  const auto made = fs::last_write_time(Cached()[0]);
  EXPECT_EQ(All(RecordIndex(file, Format::kLines)), (std::vector<std::string>{"one", "two"}));
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
  const fs::path file = Write("a", "one\ntwo\n");
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
    ASSERT_EQ(All(RecordIndex(file, Format::kLines)), (std::vector<std::string>{"one", "two"})) << at;
  }
  for (std::uintmax_t length = 0; length < size; ++length) {
    fs::resize_file(Cached()[0], length);
    ASSERT_EQ(All(RecordIndex(file, Format::kLines)), (std::vector<std::string>{"one", "two"})) << length;
  }
}

TEST_F(Records, ACacheThatCannotBeWrittenCostsOnlyTime) {
  const fs::path file = Write("a", "one\n");
  Write("cache", "a file where the folder should be");
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(All(RecordIndex(file, Format::kLines)), (std::vector<std::string>{"one"}));
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("are looked for again at the next start"),
            std::string::npos);
}

TEST_F(Records, AFileThatIsNotThereIsNamed) {
  Write("data.jsonl", "");
  EXPECT_EQ(Refusal([&] { RecordIndex(folder_ / "dato.jsonl", Format::kLines); }),
            "no such file: dato.jsonl; did you mean 'data.jsonl'?");
}

}  // namespace
}  // namespace medley
