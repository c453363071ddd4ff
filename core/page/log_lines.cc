#include <medley/page/log_lines.h>

#include <limits>
#include <string>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/line_reader.h>
#include <medley/base/work_progress.h>

namespace medley {

namespace fs = std::filesystem;
using nlohmann::json;

const json& ListAt(const json& value, const char* key) {
  static const json kNone = json::array();
  const json& found = At(value, key);
  return found.is_array() ? found : kNone;
}

double NumberAt(const json& value, const char* key) {
  const json& found = At(value, key);
  return found.is_number() ? found.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

void ForEachLine(const fs::path& file, const std::function<void(const json&)>& take) {
  if (!fs::exists(file)) return;
  LineReader reader(file);
  ReadingProgress progress(file);
  std::int64_t number = 0;
  for (std::string line; reader.Next(line) && reader.whole();) {
    ++number;
    progress.Read(line.size() + 1);
    const json read = json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!read.is_object())
      throw InputError(
          DisplayPath(file) + ":" + std::to_string(number) +
          ": expected an object of JSON: the log is damaged. medley resume keeps it aside, and goes "
          "on with the lines that can be read");
    if (At(read, "step").is_number_integer()) take(read);
  }
}

}  // namespace medley
