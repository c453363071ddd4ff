#include <medley/report/log_lines.h>

#include <cmath>
#include <limits>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/json_reader.h>
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

LogLine ReadLogLine(const std::string& line) {
  LogLine read;
  if (!IsJson(line)) return read;
  read.json = json::parse(line);  // what ReadJson would make of it, which says where it is wrong: nobody asks
  if (const json& step = At(read.json, "step"); step.is_number_integer())
    read.step = step.get<std::int64_t>();
  return read;
}

void ForEachLine(const fs::path& log, DamagedLine damaged, const std::function<void(const json&)>& take,
                 std::string_view having) {
  if (!fs::exists(log)) return;
  LineReader reader(log, kLongestLogLine);
  ReadingProgress progress(log);
  std::int64_t number = 0;
  for (std::string line; reader.Next(line) && reader.whole();) {
    ++number;
    progress.Read(line.size() + 1);
    if (line.find(having) == std::string::npos) continue;
    const LogLine read = ReadLogLine(line);
    if (read.step >= 0) take(read.json);
    if (read.json.is_object() || damaged == DamagedLine::kPassedOver) continue;
    throw InputError(DisplayPath(log) + ":" + std::to_string(number) +
                     ": expected an object of JSON: the log is damaged. medley resume keeps it aside, and "
                     "goes on with the lines that can be read");
  }
}

std::map<std::string, double> LossesIn(const json& line) {
  std::map<std::string, double> losses;
  for (const auto& [task, terms] : At(line, "terms").items()) {
    double sum = 0;
    for (const auto& [term, loss] : terms.items()) sum += NumberAt(loss, "weighted");
    if (std::isfinite(sum)) losses[task] = sum;
  }
  return losses;
}

}  // namespace medley
