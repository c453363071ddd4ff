#include <medley/data/jsonl_file.h>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/json_reader.h>

namespace medley {

// The line is counted for a message only: it is not known without those before it.
nlohmann::json JsonlFile::Read(std::int64_t item) const {
  const std::string text = records_.Read(item), file = DisplayPath(records_.path());
  try {
    return ReadJson<nlohmann::json>(text, file);
  } catch (const InputError&) {
    return ReadJsonLine<nlohmann::json>(text, file, static_cast<int>(records_.LineOf(item)));
  }
}

std::string JsonlFile::PlaceOf(std::int64_t item) const {
  return DisplayPath(records_.path()) + ":" + std::to_string(records_.LineOf(item));
}

}  // namespace medley
