#include <medley/report/speeds.h>

#include <algorithm>

#include <medley/base/durable_file.h>
#include <medley/base/line_reader.h>
#include <medley/base/work_progress.h>
#include <medley/report/log_repair.h>
#include <medley/report/table.h>

namespace medley {
namespace {

using nlohmann::json;

double PositiveIn(const json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (found == object.end() || !found->is_number()) return 0;
  return std::max(0.0, found->get<double>());
}

void AddSpeed(Speeds& speeds, const std::string& task, double operations, double seconds) {
  if (operations <= 0 || seconds <= 0) return;
  Speed& speed = speeds[task];
  speed.operations += operations;
  speed.seconds += seconds;
}

}  // namespace

Speeds SpeedsOf(const StepRecord& record) {
  Speeds speeds;
  for (const DrawReceipt& draw : record.receipts)
    AddSpeed(speeds, draw.form.text(), static_cast<double>(draw.operations), draw.seconds);
  return speeds;
}

Speeds ReadSpeeds(const std::filesystem::path& timing) {
  Speeds speeds;
  if (TypeOf(timing) != std::filesystem::file_type::regular) return speeds;
  LineReader file(timing);
  ReadingProgress progress(timing);
  for (std::string line; file.Next(line);) {
    progress.Read(line.size() + 1);
    const json read = ReadLogLine(line).json;
    if (!read.is_object() || !read.contains("tasks") || !read.at("tasks").is_object()) continue;
    for (const auto& [task, figures] : read.at("tasks").items())
      AddSpeed(speeds, task, PositiveIn(figures, "operations"), PositiveIn(figures, "compute_seconds"));
  }
  return speeds;
}

std::string SpeedsTable(const Speeds& speeds) {
  if (speeds.empty()) return "";
  constexpr double kGiga = 1e9;
  Table table({"task", "computed, s", "Gflop", "Gflop/s"});
  for (const auto& [task, speed] : speeds)
    table.Add({task, FormatNumber(speed.seconds), FormatNumber(speed.operations / kGiga),
               FormatNumber(speed.per_second() / kGiga)});
  return table.ToText();
}

nlohmann::ordered_json ToJson(const Speeds& speeds) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const auto& [task, speed] : speeds)
    json[task] = {{"operations", speed.operations},
                  {"seconds", speed.seconds},
                  {"operations_per_second", speed.per_second()}};
  return json;
}

}  // namespace medley
