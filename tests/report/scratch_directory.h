#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace medley {

#ifdef MEDLEY_SCRATCH_ON_DISK
inline constexpr bool kScratchOnDisk = true;
#else
inline constexpr bool kScratchOnDisk = false;
#endif

// An empty directory of this test's own, removed at the end. In memory where there is such a place, for
// speed; in the build tree where the program was told so, because its tests are about what reaches a disk.
class ScratchDirectory {
 public:
  ScratchDirectory() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    path_ = Place() / ("medley-" + std::string(test->name()) + "-" + std::to_string(::getpid()) + "-" +
                       std::to_string(count_++));
    std::filesystem::create_directories(path_);
  }
  ~ScratchDirectory() { std::filesystem::remove_all(path_); }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  static std::filesystem::path Place() {
    if (kScratchOnDisk) return MEDLEY_BUILD_DIR "/scratch";
    const std::filesystem::path memory = "/dev/shm";
    return ::access(memory.c_str(), W_OK) == 0 ? memory : std::filesystem::temp_directory_path();
  }

  static inline int count_ = 0;
  std::filesystem::path path_;
};

inline std::string ReadText(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline void WriteText(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace medley
