#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <medley/data/record_index.h>

namespace medley {

// A file of comma-separated values (RFC 4180): fields may stand in double quotes, and then hold commas, line
// ends and, doubled, quotes. The first record names the columns. Many threads may read at once.
class CsvFile {
 public:
  // InputError where the file cannot be read, has no record, or names a column twice; where records have
  // another number of fields than there are columns, or quotes that are not those of a field, one with all of
  // them, "FILE:LINE: ...", the first twenty shown.
  explicit CsvFile(const std::filesystem::path& file, char separator = ',');

  std::int64_t size() const { return records_->size() - 1; }
  const std::vector<std::string>& columns() const { return columns_; }
  // The place of a column in a record; an InputError names those that are there.
  std::size_t Column(std::string_view name) const;
  // The fields of an item, as many as there are columns. 0 <= item < size(). InputError "FILE:LINE: ..."
  // where the file was changed since.
  std::vector<std::string> Read(std::int64_t item) const;
  // HashItem of each item's record, as it stands in the file.
  std::span<const std::uint64_t> hashes() const { return records_->hashes().subspan(1); }
  // "FILE:LINE", for what is wrong with an item's contents.
  std::string PlaceOf(std::int64_t item) const { return Place(item + 1); }

 private:
  std::vector<std::string> Fields(std::int64_t record) const;
  std::string Place(std::int64_t record) const { return records_->PlaceOf(record); }

  std::shared_ptr<const RecordIndex> records_;
  char separator_;
  std::vector<std::string> columns_;
};

}  // namespace medley
