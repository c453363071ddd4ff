#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include <medley/base/descriptor.h>
#include <medley/base/file_digest.h>

namespace medley {

// The place that a checkpoint points to in a log: so many bytes, and their sum.
struct LogMark {
  std::int64_t bytes = 0;
  std::string xxh3_128{};  // hex; "": not known, of a checkpoint of before there were sums
  bool operator==(const LogMark&) const = default;
};

// Why the file does not begin with the bytes of the mark, as the rest of a sentence that its path begins; ""
// where it does. Trouble of the machine is a FileError.
std::string MarkProblem(const std::filesystem::path& path, const LogMark& mark);

// A log that a checkpoint can point into: lines are appended, made durable by Sync, and cut back to a
// committed offset at a resume.
//
// A full disk does not end a run: lines that cannot be written wait in memory and are tried again with the
// next one. Only Sync insists, so it is the save that fails then, not the step. For one thread; nobody else
// writes to the file.
class AppendFile {
 public:
  // Opens or creates; bytes beyond `keep_bytes` are cut off. An Error where the file is shorter than that, or
  // no plain file.
  AppendFile(std::filesystem::path path, std::int64_t keep_bytes);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  void Append(std::string_view text);
  // Returns once everything is on the disk; then the mark may be recorded. After a failed fsync it is not
  // asked again: the next call writes what can be read to a new file, and compares the sums.
  void Sync();

  // The durable end of the file if Sync was the last call.
  std::int64_t offset() const { return offset_; }
  LogMark mark() const { return {offset_, sum_.Hex()}; }
  // Bytes that could not be written so far, and why.
  std::size_t waiting() const { return pending_.size(); }
  int error() const { return error_; }  // errno; 0: nothing waits
  const std::filesystem::path& path() const { return path_; }

 private:
  void SeekTo(std::int64_t offset);
  void WritePending();
  void WriteAnew();

  std::filesystem::path path_;
  Descriptor file_;
  std::int64_t offset_ = 0;
  RunningSum sum_;  // of the bytes before offset_
  std::string pending_;
  int error_ = 0;
  bool doubtful_ = false;  // an fsync failed
};

}  // namespace medley
