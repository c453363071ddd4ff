#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include <medley/data/json_item.h>
#include <medley/data/record_index.h>

namespace medley {

// A file of JSON values, one a line (JSON Lines); blank lines do not count. Or the elements of a JSON list,
// over any lines. Many threads may read at once.
class JsonlFile {
 public:
  // InputError where the file cannot be read; where lines are not good JSON or have a key twice, one with all
  // of them, "FILE:LINE:COLUMN: ...", the first twenty shown.
  explicit JsonlFile(const std::filesystem::path& file);
  // Of a file that is a JSON list, or one object.
  static JsonlFile OfElements(const std::filesystem::path& file);

  std::int64_t size() const { return records_->size(); }
  // 0 <= item < size(). InputError "FILE:LINE:COLUMN: ..." where the file was changed since.
  JsonItem Read(std::int64_t item) const;
  // HashItem of each line.
  std::span<const std::uint64_t> hashes() const { return records_->hashes(); }
  // "FILE:LINE", for what is wrong with an item's contents.
  std::string PlaceOf(std::int64_t item) const { return records_->PlaceOf(item); }

 private:
  JsonlFile(const std::filesystem::path& file, RecordIndex::Format format);

  std::shared_ptr<const RecordIndex> records_;
};

}  // namespace medley
