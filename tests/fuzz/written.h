#pragma once

#include <filesystem>
#include <fstream>
#include <string>

namespace medley::fuzz {

// In the working directory, which is this process's own.
inline std::filesystem::path Written(const std::filesystem::path& name, const std::string& bytes) {
  if (name.has_parent_path()) std::filesystem::create_directories(name.parent_path());
  std::ofstream(name, std::ios::binary) << bytes;
  return name;
}

}  // namespace medley::fuzz
