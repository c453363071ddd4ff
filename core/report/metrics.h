#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include <medley/base/append_file.h>
#include <medley/report/log_watch.h>
#include <medley/report/record_sink.h>

namespace medley {

inline constexpr const char* kMetricsLog = "metrics.jsonl";
inline constexpr const char* kTimingLog = "timing.jsonl";  // for people alone: not needed to go on
inline constexpr const char* kLossesTable = "losses.csv";

// What a line of both logs has instead of a step's keys, where weights were predicted or a phase changed.
inline constexpr const char* kTransition = "transition";

// A step's line of each.
nlohmann::ordered_json MetricsLine(const StepRecord& record);
nlohmann::ordered_json TimingLine(const StepRecord& record);

// metrics.jsonl: what is deterministic, a line a step and one for every prediction. What has no value in a
// step is null.
class MetricsLog final : public RecordSink {
 public:
  // Cut back to its mark, empty without one; see RepairLogs. Keeps the console.
  MetricsLog(const std::filesystem::path& directory, const LogMarks& marks, Console& console);

  using RecordSink::Take;
  void Take(const EvaluationRecord& at_start) override;
  void Take(const StepRecord& record) override;
  void Take(const PhaseRecord& record) override;
  void Sync(LogMarks& marks) override;

 private:
  AppendFile file_;
  LogWatch watch_;
};

// timing.jsonl: times, bytes and all else, a line a step and one for every change of phase. A save goes on
// without it.
class TimingLog final : public RecordSink {
 public:
  TimingLog(const std::filesystem::path& directory, const LogMarks& marks, Console& console);

  using RecordSink::Take;
  void Take(const StepRecord& record) override;
  void Take(const PhaseRecord& record) override;
  void Sync(LogMarks& marks) override;

 private:
  AppendFile file_;
  LogWatch watch_;
  LogMark durable_;
};

// losses.csv: a column a task, an empty cell where it has no value. Made again from metrics.jsonl, which must
// be cut back by then, at every start and where a task is added: the past gets its column.
// A save goes on without it.
class LossesTable final : public RecordSink {
 public:
  LossesTable(const std::filesystem::path& directory, const std::vector<std::string>& tasks,
              Console& console);

  using RecordSink::Take;
  void Take(const StepRecord& record) override;
  void AddTasks(const std::vector<std::string>& named) override;
  void Sync(LogMarks& marks) override;

 private:
  void Begin(const std::vector<std::string>& tasks);

  std::filesystem::path directory_;
  std::vector<std::string> tasks_;
  std::optional<AppendFile> file_;  // always there
  LogWatch watch_;
};

}  // namespace medley
