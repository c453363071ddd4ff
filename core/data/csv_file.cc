#include <medley/data/csv_file.h>

#include <algorithm>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/suggest.h>
#include <medley/data/last_read.h>

namespace medley {
namespace {

// Takes a field and the separator behind it from the front; `more`: there was one. "" or what is wrong.
std::string TakeField(std::string_view& text, char separator, std::string& field, bool& more) {
  const auto take = [&](std::size_t count) {
    field.append(text.substr(0, count));
    text.remove_prefix(count);
  };
  if (text.starts_with('"')) {
    text.remove_prefix(1);
    for (bool open = true; open;) {
      const std::size_t quote = text.find('"');
      if (quote == std::string_view::npos) return "a quote is not closed";
      take(quote);
      text.remove_prefix(1);
      open = text.starts_with('"');
      if (open) take(1);
    }
    if (!text.empty() && text.front() != separator) return "something stands behind a closing quote";
  } else {
    take(std::min(text.find(separator), text.size()));
    if (field.find('"') != std::string::npos)
      return "a quote stands inside of a field; quote the field, and double the quotes in it";
  }
  more = text.starts_with(separator);
  if (more) text.remove_prefix(1);
  return "";
}

}  // namespace

CsvFile::CsvFile(const std::filesystem::path& file, char separator)
    : records_(std::make_shared<const RecordIndex>(file, RecordIndex::Format::kCsv)), separator_(separator) {
  if (records_->size() == 0)
    throw InputError(DisplayPath(file) + " is empty; expected a first line with the names of the columns");
  columns_ = Fields(0);
  for (auto column = columns_.begin(); column != columns_.end(); ++column) {
    if (std::find(columns_.begin(), column, *column) != column)
      throw InputError(Place(0) + ": two columns are called '" + *column + "'");
  }
}

std::size_t CsvFile::Column(std::string_view name) const {
  const auto found = std::find(columns_.begin(), columns_.end(), name);
  if (found != columns_.end()) return static_cast<std::size_t>(found - columns_.begin());
  throw InputError(Place(0) + ": no column '" + std::string(name) + "'" + DidYouMean(name, columns_) +
                   " (columns: " + JoinNames(columns_) + ")");
}

std::vector<std::string> CsvFile::Read(std::int64_t item) const {
  std::vector<std::string> fields = Fields(item + 1);
  if (fields.size() == columns_.size()) return fields;
  throw InputError(PlaceOf(item) + ": expected " + std::to_string(columns_.size()) +
                   " fields, as there are columns; found " + std::to_string(fields.size()));
}

std::vector<std::string> CsvFile::Fields(std::int64_t record) const {
  NoteRead(records_, record);
  const std::string text = records_->Read(record);
  std::vector<std::string> fields;
  std::string_view rest = text;
  for (bool more = true; more;) {
    const std::string problem = TakeField(rest, separator_, fields.emplace_back(), more);
    if (problem.empty()) continue;
    throw InputError(Place(record) + ": field " + std::to_string(fields.size()) + ": " + problem);
  }
  return fields;
}

}  // namespace medley
