#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <medley/base/input_file.h>
#include <medley/base/mapped_file.h>

namespace medley {

struct RecordCheck;

// The places where the records of a text file begin, so that any of them is read without those before it, and
// the hashes of their bytes. A file is read through once, with its progress on stderr where that takes long,
// and each record is checked meanwhile. Of a file from kLeastKept on the result lies in the user's cache
// ($XDG_CACHE_HOME/medley/records) and holds as long as the file has the same size and times; a shorter one
// is read through sooner than such a file is looked for. Many threads may read at once.
class RecordIndex {
 public:
  // A record is a line that is not blank; of kCsv, one whose quotes are closed. Of kElements it is an element
  // of the file's JSON list, over any lines, or the file where that is one object.
  enum class Format : std::uint32_t { kLines = 1, kCsv = 2, kElements = 3 };

  static constexpr std::int64_t kLeastKept = std::int64_t{1} << 20;  // bytes

  // That of the file as it is now. The last kMostOpen are kept with their files open, as a task of many files
  // may open one for each row. Throws as the constructor does.
  static std::shared_ptr<const RecordIndex> Open(const std::filesystem::path& file, Format format,
                                                 const RecordCheck& check);
  static constexpr std::size_t kMostOpen = 512;  // half of the files that a process may usually have open

  // InputError where the file cannot be read; BadRecords, with all of them, where some are not well formed,
  // and then no index is kept. A run that is to stop does not wait for the end of a long file.
  RecordIndex(const std::filesystem::path& file, Format format, const RecordCheck& check);
  // Takes the records as they are.
  RecordIndex(const std::filesystem::path& file, Format format);

  std::int64_t size() const { return static_cast<std::int64_t>(begins_.size()) - 1; }
  // The record, without the end of its line. 0 <= record < size().
  std::string Read(std::int64_t record) const;
  // The line, from 1, in which it begins; "FILE:LINE". For messages: both count the lines before it.
  std::int64_t LineOf(std::int64_t record) const;
  std::string PlaceOf(std::int64_t record) const;
  // The byte at which it begins.
  std::uint64_t BeginOf(std::int64_t record) const { return begins_[static_cast<std::size_t>(record)]; }
  // HashItem of each record, without the end of its line: where all line ends become others, none changes.
  std::span<const std::uint64_t> hashes() const { return hashes_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  bool Load(const std::filesystem::path& cached);
  void Save(const std::filesystem::path& cached) const;
  // Begins, and behind them hashes.
  void Show(std::span<const std::uint64_t> numbers);

  std::filesystem::path path_;
  Format format_;
  InputFile file_;
  std::vector<std::uint64_t> scanned_;     // what the spans show where nothing was in the cache
  std::unique_ptr<MappedFile> mapped_;     // or what was
  std::span<const std::uint64_t> begins_;  // of each record, and the end of the last
  std::span<const std::uint64_t> hashes_;
};

// "FILE:LINE" of what begins at this byte; counts the lines before it.
std::string RecordPlace(const std::filesystem::path& file, std::uint64_t begin);

}  // namespace medley
