#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <string_view>

namespace medley {

// A file that somebody named for what is written there, be it there or not: the one function that opens it.
//
// A FIFO, a character device and a descriptor of this process (/dev/stdout) are written to and stay what they
// are. A link is followed and stays, and its target gets the bytes. A plain file is replaced as a whole, with
// the permissions that it had: after a crash or on a full disk either the old or the new one is there.
//
// Whether what is there may be lost is its caller's to ask.
class OutputFile {
 public:
  // Looks at it and opens nothing. InputError where no file can be written there: a folder above it is
  // missing or closed, it is a directory or a socket, links go round.
  explicit OutputFile(const std::filesystem::path& named);

  // Behind all links, absolute; in a folder that is there.
  const std::filesystem::path& path() const { return path_; }
  bool is_there() const { return info_.st_mode != 0; }
  bool is_plain() const { return S_ISREG(info_.st_mode); }
  // What is written to it goes on, and nothing is replaced.
  bool is_stream() const { return descriptor_ >= 0 || S_ISFIFO(info_.st_mode) || S_ISCHR(info_.st_mode); }
  // Writing would lose bytes that are there: of a plain file, or of a disk.
  bool holds_bytes() const { return S_ISBLK(info_.st_mode) || (is_plain() && info_.st_size > 0); }
  // Somebody said that it stays as it is, which replacing a file would not ask for.
  bool is_read_only() const;

  // All of it, or an InputError: also for a FIFO that nobody reads within ten seconds.
  void Write(std::string_view bytes) const;

 private:
  void Follow(const std::filesystem::path& named);
  void WriteToStream(std::string_view bytes) const;
  void Replace(std::string_view bytes) const;

  std::filesystem::path path_;
  struct stat info_ {};  // all zero where nothing is there
  int descriptor_ = -1;  // of this process
};

}  // namespace medley
