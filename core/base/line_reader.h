#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>

#include <medley/base/input_file.h>

namespace medley {

// The lines of a file, one after the other. Trouble is a FileError, where std::getline would see an end.
class LineReader {
 public:
  explicit LineReader(const std::filesystem::path& path) : path_(path), file_(path) {}
  // Of a plain file alone, else an InputError; so is a line of more than `longest` bytes.
  LineReader(const std::filesystem::path& path, std::size_t longest);

  // The next line without its "\n"; false after the last one. What stands behind the last "\n" is a line too,
  // and not whole.
  bool Next(std::string& line);
  bool whole() const { return whole_; }  // of the line that Next gave last

 private:
  std::filesystem::path path_;
  InputFile file_;
  std::size_t longest_ = std::numeric_limits<std::size_t>::max();
  std::string waiting_;  // read, from at_ on not given yet
  std::size_t at_ = 0;
  std::int64_t offset_ = 0;
  bool whole_ = false;
};

}  // namespace medley
