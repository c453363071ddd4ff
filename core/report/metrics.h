#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <medley/base/append_file.h>
#include <medley/report/log_watch.h>
#include <medley/report/record_sink.h>

namespace medley {

inline constexpr const char* kMetricsLog = "metrics.jsonl";
inline constexpr const char* kTimingLog = "timing.jsonl";  // for people alone: not needed to go on
inline constexpr const char* kLossesTable = "losses.csv";

// metrics.jsonl: what is deterministic, a line a step. What has no value in a step is null.
class MetricsLog final : public RecordSink {
 public:
  // Cut back to its mark, empty without one; see RepairLogs. Keeps the console.
  MetricsLog(const std::filesystem::path& directory, const LogMarks& marks, Console& console);

  using RecordSink::Take;
  void Take(const StepRecord& record) override;
  void Sync(LogMarks& marks) override;

 private:
  AppendFile file_;
  LogWatch watch_;
};

// timing.jsonl: times, bytes and all else, a line a step. A save goes on without it.
class TimingLog final : public RecordSink {
 public:
  TimingLog(const std::filesystem::path& directory, const LogMarks& marks, Console& console);

  using RecordSink::Take;
  void Take(const StepRecord& record) override;
  void Sync(LogMarks& marks) override;

 private:
  AppendFile file_;
  LogWatch watch_;
  LogMark durable_;
};

// losses.csv: a column a task, an empty cell where it has no value. Made again from metrics.jsonl, which must
// be cut back by then, at every start: the tasks may be others than before, and the past gets their columns.
// A save goes on without it.
class LossesTable final : public RecordSink {
 public:
  LossesTable(const std::filesystem::path& directory, const std::vector<std::string>& tasks,
              Console& console);

  using RecordSink::Take;
  void Take(const StepRecord& record) override;
  void Sync(LogMarks& marks) override;

 private:
  struct Begun {
    std::vector<std::string> tasks;
    std::int64_t bytes = 0;
  };
  LossesTable(const std::filesystem::path& path, Begun begun, Console& console);
  static Begun Begin(const std::filesystem::path& directory, const std::vector<std::string>& tasks);

  std::vector<std::string> tasks_;
  AppendFile file_;
  LogWatch watch_;
};

}  // namespace medley
