#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <medley/report/console.h>
#include <medley/report/rank_work.h>
#include <medley/report/record_sink.h>
#include <medley/report/short_names.h>

namespace medley {

// "87 % waiting for data (two_disks): data.threads=4" with the task that was waited for the longest, and as
// many threads as would sample in time, if this machine has them; "" where steps do not wait much. `share`:
// of the steps' time; `waits`: by task, in any unit.
std::string DataWaitWords(double share, const std::map<std::string, double>& waits,
                          std::int64_t data_threads);

// Words for the status line: where the run is, what every task's loss is, how fast it goes and how long it
// will take.
class Progress {
 public:
  // `data_threads`: as in the config, for advice.
  Progress(std::int64_t first_step, std::int64_t total_steps, std::int64_t data_threads = 0)
      : step_(first_step), total_(total_steps), data_threads_(data_threads) {}

  // The run ends after so many steps, and within so many seconds from now.
  void EndsAt(std::int64_t total_steps, double most_seconds);
  // The stage and what it waits for, "" for none: the first of the words behind the losses.
  void SetStage(std::string words) { stage_ = std::move(words); }
  void Add(const StepRecord& record);
  // These tasks have a short name from now on; returns those to which that is another than their own and new.
  std::vector<std::string> AddTasks(const std::vector<std::string>& tasks);
  const std::string& ShortNameOf(const std::string& task) const { return names_.Of(task); }
  // "step 120/1000:  control 0.1234  zoom_gold 0.045; 3:20 left, 85 rows/s, memory 5 MiB (peak 310.2 MiB)".
  // A task that was evaluated has its last score behind its loss: "control 0.1234 (0.0341)". With fewer
  // columns tasks have their short names ("120/1000 cont .12/.034 zgol .045/.026"), and of the rest stays
  // what fits. Where the tasks do not all fit, those that were drawn last are shown, newest first, and how
  // many others there are: "120/1000 zgol .045/.026 cont .12/.034 +20". A task that was not drawn for long is
  // left out until it is drawn again. Where steps wait for data, DataWaitWords stand before the time that is
  // left; where several processes train, RankWork's words.
  std::string Line(std::size_t columns = SIZE_MAX) const;

  std::int64_t memory_peak() const { return memory_peak_; }
  // Since the run was started or resumed.
  const RankWork& rank_work() const { return rank_work_; }

 private:
  double RowsPerSecond() const;
  double SecondsLeft() const;
  void AddLosses(const StepRecord& record);
  std::string WaitWords() const;
  std::string RankWords() const;
  bool IsOld(const std::string& task) const;
  std::vector<std::string> Shown() const;  // the one that was drawn last first
  std::string LongLosses() const;
  std::string ShortLosses() const;
  std::string LastDrawn(std::size_t columns) const;
  std::string ShortTask(const std::string& task) const;

  std::int64_t step_;
  std::int64_t total_;
  std::int64_t data_threads_;
  double most_seconds_ = std::numeric_limits<double>::infinity();
  // Recent steps weigh more: the mixture, and so the speed, may change.
  double step_seconds_ = 0, step_rows_ = 0, weight_ = 0;
  std::map<std::string, double> waits_;  // seconds for data, by task
  RankWork recent_work_, rank_work_;     // ms
  SmoothedLosses losses_;
  std::vector<std::string> drawn_;  // the tasks of losses_, the one that was drawn last first
  struct DrawnSteps {
    std::int64_t first = 0, last = 0, count = 0;
  };
  std::map<std::string, DrawnSteps> steps_;  // in which they were drawn
  ShortNames names_;
  std::map<std::string, double> scores_;  // of the last evaluations
  std::int64_t memory_now_ = 0, memory_peak_ = 0;
  std::string stage_;
};

// Shows them. Keeps references.
class StatusLine final : public RecordSink {
 public:
  StatusLine(Progress& progress, Console& console) : progress_(progress), console_(console) {}

  using RecordSink::Take;
  void Take(const StepRecord& record) override;
  void AddTasks(const std::vector<std::string>& named) override;

 private:
  void Tell();

  Progress& progress_;
  Console& console_;
  std::vector<std::string> short_;  // the tasks with a short name that was not told yet
  bool has_told_ = false;           // how short lines are read
};

}  // namespace medley
