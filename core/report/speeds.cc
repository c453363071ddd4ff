#include <medley/report/speeds.h>

#include <medley/report/log_lines.h>
#include <medley/report/table.h>

namespace medley {
namespace {

using nlohmann::json;

void AddSpeed(Speeds& speeds, const std::string& task, double operations, double seconds) {
  if (!(operations > 0 && seconds > 0)) return;
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
  ForEachLine(timing, DamagedLine::kPassedOver, [&](const json& line) {
    for (const auto& [task, figures] : At(line, "tasks").items())
      AddSpeed(speeds, task, NumberAt(figures, "operations"), NumberAt(figures, "compute_seconds"));
  });
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
