#include <medley/data/jsonl_file.h>

#include <nlohmann/json.hpp>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/json_reader.h>
#include <medley/data/last_read.h>

namespace medley {
namespace {

// The line is counted for a message only: it is not known without those before it.
nlohmann::json ReadRecord(const RecordIndex& records, std::int64_t record) {
  const std::string text = records.Read(record), file = DisplayPath(records.path());
  try {
    return ReadJson<nlohmann::json>(text, file);
  } catch (const InputError&) {
    return ReadJsonLine<nlohmann::json>(text, file, static_cast<int>(records.LineOf(record)));
  }
}

}  // namespace

JsonItem JsonlFile::Read(std::int64_t item) const {
  NoteRead(records_, item);
  return {ReadRecord(*records_, item), records_, item};
}

}  // namespace medley
