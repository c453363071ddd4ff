#include <medley/report/record_sink.h>

namespace medley {

std::int64_t OffsetOf(const LogOffsets& offsets, const std::string& log) {
  const auto found = offsets.find(log);
  return found == offsets.end() ? 0 : found->second;
}

RecordSink::~RecordSink() = default;

void RecordSinks::Take(const StepRecord& record) {
  for (const auto& sink : sinks_) sink->Take(record);
}

void RecordSinks::Take(const PlanRecord& record) {
  for (const auto& sink : sinks_) sink->Take(record);
}

void RecordSinks::Sync(LogOffsets& offsets) {
  for (const auto& sink : sinks_) sink->Sync(offsets);
}

}  // namespace medley
