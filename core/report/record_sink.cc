#include <medley/report/record_sink.h>

#include <medley/base/error.h>
#include <medley/base/json_count.h>

namespace medley {

using nlohmann::ordered_json;

LogMark MarkOf(const LogMarks& marks, const std::string& log) {
  const auto found = marks.find(log);
  return found == marks.end() ? LogMark() : found->second;
}

ordered_json ToJson(const LogMarks& marks) {
  ordered_json json = ordered_json::object();
  for (const auto& [log, mark] : marks) json[log] = {{"bytes", mark.bytes}, {"xxh3_128", mark.xxh3_128}};
  return json;
}

LogMarks LogMarksFromJson(const ordered_json& json) {
  try {
    LogMarks marks;
    if (!json.is_object()) throw Error("the marks of the logs are no object");
    for (const auto& [log, mark] : json.items()) {
      if (mark.is_number_integer()) {
        marks[log] = {CheckedCount(mark, log), ""};
      } else {
        marks[log] = {CountOf(mark, "bytes"), mark.at("xxh3_128").get<std::string>()};
      }
    }
    return marks;
  } catch (const ordered_json::exception& error) {
    throw Error(std::string("the marks of the logs cannot be understood: ") + error.what());
  } catch (const std::out_of_range& error) {
    throw Error(std::string("the marks of the logs cannot be understood: ") + error.what());
  }
}

RecordSink::~RecordSink() = default;

void RecordSinks::Take(const EvaluationRecord& at_start) {
  for (const auto& sink : sinks_) sink->Take(at_start);
}

void RecordSinks::Take(const StepRecord& record) {
  for (const auto& sink : sinks_) sink->Take(record);
}

void RecordSinks::Take(const PlanRecord& record) {
  for (const auto& sink : sinks_) sink->Take(record);
}

void RecordSinks::Take(const PhaseRecord& record) {
  for (const auto& sink : sinks_) sink->Take(record);
}

void RecordSinks::Take(const StageStart& start) {
  for (const auto& sink : sinks_) sink->Take(start);
}

void RecordSinks::Take(const SaveRecord& record) {
  for (const auto& sink : sinks_) sink->Take(record);
}

void RecordSinks::AddTasks(const std::vector<std::string>& named) {
  for (const auto& sink : sinks_) sink->AddTasks(named);
}

void RecordSinks::Sync(LogMarks& marks) {
  for (const auto& sink : sinks_) sink->Sync(marks);
}

}  // namespace medley
