#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <medley/base/passing_files.h>

namespace medley {

// A directory of this process, gone with it.
class Scratch {
 public:
  Scratch();  // an Error where none can be made
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::filesystem::path& path() const { return path_; }
  // Returns the file.
  std::filesystem::path Write(const std::string& name, std::string_view text) const;

 private:
  std::filesystem::path path_;
  std::optional<PassingFile> passing_;
};

}  // namespace medley
