#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <medley/base/error.h>

namespace medley {

// A folder of files for a test, whose user has the cache in it too.
class DataFiles : public ::testing::Test {
 protected:
  DataFiles()
      : folder_(std::filesystem::temp_directory_path() / ("medley-data-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
    setenv("XDG_CACHE_HOME", (folder_ / "cache").c_str(), 1);
  }
  ~DataFiles() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path Write(const std::string& name, const std::string& bytes) const {
    const std::filesystem::path path = folder_ / name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

  // The message of what fn throws, the folder left out; "" where it throws nothing.
  template <typename Fn>
  std::string Refusal(const Fn& fn) const {
    try {
      fn();
      return "";
    } catch (const InputError& error) {
      std::string words = error.what();
      for (std::size_t at; (at = words.find(folder_.string() + "/")) != std::string::npos;)
        words.erase(at, folder_.string().size() + 1);
      return words;
    }
  }

  std::filesystem::path folder_;
};

}  // namespace medley
