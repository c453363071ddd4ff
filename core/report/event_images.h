#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace medley {

// A picture of an event file: where its PNG lies there.
struct EventImage {
  std::string tag;
  std::int64_t step = 0;
  std::int64_t at = 0, bytes = 0;
};

// The pictures whose tags begin so, in the file's order, up to the first record that is not whole: one may
// still be written, and of a damaged file what stands before the damage counts. None where there is no file.
// What is read is not held against its checksums. A FileError where it cannot be read.
std::vector<EventImage> FindEventImages(const std::filesystem::path& file, std::string_view prefix);

}  // namespace medley
