#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include <medley/base/append_file.h>
#include <medley/curriculum/mixer.h>

namespace medley {

struct LoggedTerm {
  double sum = 0;
  std::int64_t count = 0;
  double weight = 1;
  // Nothing where no row of the draws had an item of this term.
  std::optional<double> mean() const {
    return count > 0 ? std::optional(sum / static_cast<double>(count)) : std::nullopt;
  }
  std::optional<double> weighted() const {
    return weight == 0 ? 0.0 : count > 0 ? std::optional(weight * *mean()) : std::nullopt;
  }
};
using LoggedLosses = std::map<std::string, std::map<std::string, LoggedTerm>>;  // task, term

// The weighted loss of one task. Nothing where a term had no item: a total without it does not compare with
// those of other steps.
std::optional<double> TotalLoss(const std::map<std::string, LoggedTerm>& terms);

// All that is known of one step. What is above the line is the same in every run of the same seed.
struct StepRecord {
  std::int64_t step = 0;  // counted from 1
  std::vector<Draw> draws;
  LoggedLosses losses;
  double gradient_norm = 0;
  double learning_rate = 0;
  nlohmann::ordered_json evaluation;  // null where none was due
  // ---
  double seconds = 0;
  double data_wait_ms = 0;                             // of these, waiting for rows, or sampling them
  std::int64_t memory_now = 0;                         // bytes
  std::int64_t memory_peak = 0;                        // bytes, within the step
  std::map<std::string, std::int64_t> constant_bytes;  // by task
  std::map<std::string, std::int64_t> peak_bytes;      // by task, of its draws
  nlohmann::ordered_json memory;                       // what the peak was for; null: not known
  nlohmann::ordered_json guard;                        // what the guard said; null: nothing
  nlohmann::ordered_json overflows;  // draws that ran again in smaller micro-batches; null: none

  std::int64_t rows() const;
};

// Committed lengths of the logs, by file name.
inline constexpr const char* kTimingLog = "timing.jsonl";  // for people alone: not needed to go on

using LogOffsets = std::map<std::string, std::int64_t>;

// metrics.jsonl (deterministic, every step once), timing.jsonl (everything else), losses.csv (a column a
// task; made again from metrics.jsonl at every start). What has no value in a step is null, or an empty cell.
class Metrics {
 public:
  // Cuts the logs back to `offsets`; those that it does not name start empty.
  Metrics(const std::filesystem::path& directory, const std::vector<std::string>& tasks,
          const LogOffsets& offsets);

  void Record(const StepRecord& record);
  // Makes all lines durable and says how long the logs are.
  LogOffsets Sync();

 private:
  void RewriteLosses();

  std::vector<std::string> tasks_;
  std::unique_ptr<AppendFile> metrics_, timing_, losses_;
};

}  // namespace medley
