#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <medley/base/input_file.h>
#include <medley/data/record_index.h>

namespace medley {

// What is asked of every record of a file while it is read through.
struct RecordCheck {
  std::string name;  // an index holds for the checks of one name: another question has another one
  // "", or "FILE:LINE:COLUMN: what is wrong" with a record and the line in which it begins; asked from the
  // first record to the last.
  std::function<std::string(std::string_view record, std::int64_t line)> problem;
};

// Records that are checked are longer than this only where something is wrong: a quote that is not closed, or
// a file of another kind.
inline constexpr std::int64_t kMostRecordBytes = 64 << 20;

// Files are read in pieces of so many bytes.
inline constexpr std::size_t kScanPiece = 4 << 20;

struct FoundRecords {
  std::vector<std::uint64_t> begins;  // of each, and the end of the last
  std::vector<std::uint64_t> hashes;  // HashItem of each one's text
};

// Reads the file through, once and in pieces, and tells its progress on stderr where that takes long.
// BadRecords where the check finds some that are not well formed. Holds one piece, and one record. An
// interrupt is heeded.
FoundRecords FindRecords(const InputFile& file, const std::filesystem::path& path, RecordIndex::Format format,
                         const RecordCheck& check);

// The text of a record that the end of its line and blank lines may follow; `from_start`: it begins with the
// file.
std::string_view RecordText(std::string_view text, RecordIndex::Format format, bool from_start);

}  // namespace medley
