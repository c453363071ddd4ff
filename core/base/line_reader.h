#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

#include <medley/base/input_file.h>

namespace medley {

// The lines of a file, one after the other. Trouble is a FileError, where std::getline would see an end.
class LineReader {
 public:
  explicit LineReader(std::filesystem::path path) : file_(std::move(path)) {}

  // The next line without its "\n"; false after the last one. What stands behind the last "\n" is a line too,
  // and not whole.
  bool Next(std::string& line);
  bool whole() const { return whole_; }  // of the line that Next gave last

 private:
  InputFile file_;
  std::string waiting_;  // read, from at_ on not given yet
  std::size_t at_ = 0;
  std::int64_t offset_ = 0;
  bool whole_ = false;
};

}  // namespace medley
