#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace medley {

// Length and sums of a file, byte 0 to the end: XXH3-128 of every 16 MiB, so that damage is found near where
// it is. The sums find accidents, not forgeries.
struct FileDigest {
  std::int64_t bytes = 0;
  std::vector<std::string> chunks;  // hex
  bool operator==(const FileDigest&) const = default;
};

inline constexpr std::int64_t kChunkBytes = 16 << 20;

// XXH3-128 of all the bytes so far.
class RunningSum {
 public:
  RunningSum();
  ~RunningSum();
  void Add(const void* data, std::size_t size);
  std::string Hex() const;  // and more may follow
  void Reset();             // none so far

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Takes the bytes in any pieces.
class Digester {
 public:
  void Add(const void* data, std::size_t size);
  FileDigest Finish();

 private:
  void EndChunk();

  RunningSum chunk_;
  std::int64_t in_chunk_ = 0;
  FileDigest digest_;
};

std::string HashText(std::string_view text);  // XXH3-128 in hex
std::int64_t HashNumber(std::string_view text);
// The digest of a plain file; an Error where it is none, or has not `expected_bytes` (looked at before
// anything is read).
FileDigest DigestFile(const std::filesystem::path& path, std::int64_t expected_bytes);
// The sum of a whole input file in one number, "" where there is none; a FileError where it cannot be read.
std::string HashFile(const std::filesystem::path& path);

}  // namespace medley
