#pragma once

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include <medley/report/console.h>

namespace medley::fuzz {

// In the working directory, which is this process's own.
inline std::filesystem::path Written(const std::filesystem::path& name, const std::string& bytes) {
  if (name.has_parent_path()) std::filesystem::create_directories(name.parent_path());
  std::ofstream(name, std::ios::binary) << bytes;
  return name;
}

// For readers that say something.
inline Console& Quiet() {
  static Console quiet(std::tmpfile());
  return quiet;
}

}  // namespace medley::fuzz
