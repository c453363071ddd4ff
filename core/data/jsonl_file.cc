#include <medley/data/jsonl_file.h>

#include <nlohmann/json.hpp>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/json_reader.h>
#include <medley/data/last_read.h>

#include "record_scanner.h"

namespace medley {
namespace {

nlohmann::json ReadLine(std::string_view text, const std::string& file, std::int64_t line) {
  return ReadJsonLine<nlohmann::json>(text, file, static_cast<int>(line));
}

RecordCheck JsonCheck(const std::filesystem::path& path) {
  return {.name = "json",
          .problem = [file = DisplayPath(path)](std::string_view record, std::int64_t line) -> std::string {
            if (IsJson(record)) return "";
            try {
              ReadLine(record, file, line);
              return "";
            } catch (const InputError& error) {
              return error.what();
            }
          }};
}

// The line is counted for a message only: it is not known without those before it.
nlohmann::json ReadRecord(const RecordIndex& records, std::int64_t record) {
  const std::string text = records.Read(record), file = DisplayPath(records.path());
  try {
    return ReadJson<nlohmann::json>(text, file);
  } catch (const InputError&) {
    return ReadLine(text, file, records.LineOf(record));
  }
}

}  // namespace

JsonlFile::JsonlFile(const std::filesystem::path& file, RecordIndex::Format format)
    : records_(RecordIndex::Open(file, format, JsonCheck(file))) {}

JsonlFile::JsonlFile(const std::filesystem::path& file) : JsonlFile(file, RecordIndex::Format::kLines) {}

JsonlFile JsonlFile::OfElements(const std::filesystem::path& file) {
  return {file, RecordIndex::Format::kElements};
}

JsonItem JsonlFile::Read(std::int64_t item) const {
  NoteRead(records_->path(), records_->BeginOf(item));
  return {ReadRecord(*records_, item), records_, item};
}

}  // namespace medley
