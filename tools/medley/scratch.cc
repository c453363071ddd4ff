#include "tools/medley/scratch.h"

#include <stdlib.h>

#include <cerrno>
#include <string>
#include <system_error>

#include <medley/base/durable_file.h>

namespace medley {

namespace fs = std::filesystem;

Scratch::Scratch() {
  std::string pattern = fs::temp_directory_path() / "medley-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) ThrowFileError("make a directory like", pattern, errno);
  path_ = pattern;
  passing_.emplace(path_);
}

fs::path Scratch::Write(const std::string& name, std::string_view text) const {
  ReplaceFile(path_ / name, text);
  return path_ / name;
}

Scratch::~Scratch() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace medley
