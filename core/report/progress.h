#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include <medley/report/metrics.h>

namespace medley {

// Words for the status line: where the run is, what every task's loss is, how fast it goes and how long it
// will take.
class Progress {
 public:
  // `most_seconds`: the run ends by then, 0: no limit.
  Progress(std::int64_t first_step, std::int64_t total_steps, double most_seconds = 0);

  void Add(const StepRecord& record);
  // "step 120/1000:  control 0.1234  zoom_gold 0.045; 3:20 left, 85 rows/s, memory 5.0 MiB (peak 310.2 MiB)".
  // A task that was evaluated has its last score behind its loss: "control 0.1234 (0.0341)". With fewer
  // columns losses and scores and then the names become shorter ("120/1000 control .12/.034 zgold
  // .045/.026"), the scores go, and of the rest stays what fits.
  std::string Line(std::size_t columns = SIZE_MAX) const;

  const std::map<std::string, double>& last_losses() const { return last_losses_; }
  std::int64_t memory_peak() const { return memory_peak_; }

 private:
  double RowsPerSecond() const;
  double SecondsLeft() const;
  std::string LongLosses() const;
  std::string ShortLosses(std::size_t longest_name, bool with_scores) const;

  std::int64_t step_;
  std::int64_t total_;
  double most_seconds_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  // Recent steps weigh more: the mixture, and so the speed, may change.
  double step_seconds_ = 0, step_rows_ = 0, weight_ = 0;
  std::map<std::string, double> losses_;       // smoothed, for the line
  std::map<std::string, double> last_losses_;  // as they were
  std::map<std::string, double> scores_;       // of the last evaluation
  std::int64_t memory_now_ = 0, memory_peak_ = 0;
};

}  // namespace medley
