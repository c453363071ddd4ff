#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <medley/base/append_file.h>
#include <medley/report/record_sink.h>

namespace medley {

inline constexpr const char* kMetricsLog = "metrics.jsonl";
inline constexpr const char* kTimingLog = "timing.jsonl";  // for people alone: not needed to go on
inline constexpr const char* kLossesTable = "losses.csv";

// metrics.jsonl: what is deterministic, a line a step. What has no value in a step is null.
class MetricsLog final : public RecordSink {
 public:
  // Cut back to its offset, empty without one. An Error where the file is shorter.
  MetricsLog(const std::filesystem::path& directory, const LogOffsets& offsets);

  using RecordSink::Take;
  void Take(const StepRecord& record) override;
  void Sync(LogOffsets& offsets) override;

 private:
  AppendFile file_;
};

// timing.jsonl: times, bytes and all else, a line a step. A log that became shorter keeps its whole lines.
class TimingLog final : public RecordSink {
 public:
  TimingLog(const std::filesystem::path& directory, const LogOffsets& offsets);

  using RecordSink::Take;
  void Take(const StepRecord& record) override;
  void Sync(LogOffsets& offsets) override;

 private:
  AppendFile file_;
};

// losses.csv: a column a task, an empty cell where it has no value. Made again from metrics.jsonl, which must
// be cut back by then, at every start: the tasks may be others than before, and the past gets their columns.
class LossesTable final : public RecordSink {
 public:
  LossesTable(const std::filesystem::path& directory, const std::vector<std::string>& tasks);

  using RecordSink::Take;
  void Take(const StepRecord& record) override;
  void Sync(LogOffsets& offsets) override;

 private:
  std::vector<std::string> tasks_;
  AppendFile file_;
};

}  // namespace medley
