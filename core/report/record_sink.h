#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <medley/report/records.h>

namespace medley {

// Lengths of logs that a checkpoint points into, by their path below the run's directory.
using LogOffsets = std::map<std::string, std::int64_t>;
std::int64_t OffsetOf(const LogOffsets& offsets, const std::string& log);

// Writes down what a run leaves, each in its own form: a log, a line on the screen, a table. Takes what it
// wants and ignores the rest.
class RecordSink {
 public:
  virtual ~RecordSink();

  // After every step; an evaluation comes with its step.
  virtual void Take(const StepRecord& /*record*/) {}
  virtual void Take(const PlanRecord& /*record*/) {}
  // Makes durable what a checkpoint is to point into, and adds how long it is.
  virtual void Sync(LogOffsets& /*offsets*/) {}
};

// All sinks of a run, in the order in which they are told.
class RecordSinks final : public RecordSink {
 public:
  void Add(std::unique_ptr<RecordSink> sink) { sinks_.push_back(std::move(sink)); }

  void Take(const StepRecord& record) override;
  void Take(const PlanRecord& record) override;
  void Sync(LogOffsets& offsets) override;

 private:
  std::vector<std::unique_ptr<RecordSink>> sinks_;
};

}  // namespace medley
