#include <medley/data/csv_file.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/printable.h>
#include <medley/base/suggest.h>
#include <medley/data/last_read.h>

#include "record_scanner.h"

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

// "" or what is wrong.
std::string SplitRecord(std::string_view text, char separator, std::vector<std::string>& fields) {
  fields.clear();
  for (bool more = true; more;) {
    const std::string problem = TakeField(text, separator, fields.emplace_back(), more);
    if (!problem.empty()) return "field " + std::to_string(fields.size()) + ": " + problem;
  }
  return "";
}

std::string CountProblem(std::size_t fields, std::size_t columns) {
  if (fields == columns) return "";
  return "expected " + std::to_string(columns) + " fields, as there are columns; found " +
         std::to_string(fields);
}

// The first record says how many columns there are; where it is wrong itself nobody knows.
class CsvJudge {
 public:
  CsvJudge(std::string file, char separator) : file_(std::move(file)), separator_(separator) {}

  std::string operator()(std::string_view record, std::int64_t line) {
    std::string problem = SplitRecord(record, separator_, fields_);
    const bool is_good = problem.empty();
    if (is_first_) columns_ = is_good ? fields_.size() : 0;
    is_first_ = false;
    if (is_good && columns_ > 0) problem = CountProblem(fields_.size(), columns_);
    return problem.empty() ? "" : file_ + ":" + std::to_string(line) + ": " + problem;
  }

 private:
  std::string file_;
  char separator_;
  bool is_first_ = true;
  std::size_t columns_ = 0;
  std::vector<std::string> fields_;
};

RecordCheck CsvCheck(const std::filesystem::path& file, char separator) {
  return {.name = std::string("csv ") + separator, .problem = CsvJudge(DisplayPath(file), separator)};
}

}  // namespace

CsvFile::CsvFile(const std::filesystem::path& file, char separator)
    : records_(RecordIndex::Open(file, RecordIndex::Format::kCsv, CsvCheck(file, separator))),
      separator_(separator) {
  if (records_->size() == 0)
    throw InputError(DisplayPath(file) + " is empty; expected a first line with the names of the columns");
  columns_ = Fields(0);
  std::set<std::string_view> names;
  for (const std::string& column : columns_) {
    if (!names.insert(column).second)
      throw InputError(Place(0) + ": two columns are called '" + Printable(column) + "'");
  }
}

std::size_t CsvFile::Column(std::string_view name) const {
  const auto found = std::ranges::find(columns_, name);
  if (found != columns_.end()) return static_cast<std::size_t>(found - columns_.begin());
  throw InputError(Place(0) + ": no column '" + Printable(name) + "'" + DidYouMean(name, columns_) +
                   " (columns: " + JoinNames(columns_) + ")");
}

std::vector<std::string> CsvFile::Read(std::int64_t item) const {
  std::vector<std::string> fields = Fields(item + 1);
  const std::string problem = CountProblem(fields.size(), columns_.size());
  if (problem.empty()) return fields;
  throw InputError(PlaceOf(item) + ": " + problem);
}

std::vector<std::string> CsvFile::Fields(std::int64_t record) const {
  NoteRead(records_->path(), records_->BeginOf(record));
  std::vector<std::string> fields;
  const std::string problem = SplitRecord(records_->Read(record), separator_, fields);
  if (problem.empty()) return fields;
  throw InputError(Place(record) + ": " + problem);
}

}  // namespace medley
