#pragma once

#include <filesystem>

namespace medley {

// A directory of this process, gone with it.
class Scratch {
 public:
  Scratch();  // an Error where none can be made
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace medley
