#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <medley/page/curve.h>
#include <medley/page/last_scores.h>
#include <medley/report/term_loss.h>

namespace medley {

// What metrics.jsonl and timing.jsonl of a run tell, step by step.
class RunLogs {
 public:
  // Either may be missing. An InputError where one is damaged.
  explicit RunLogs(const std::filesystem::path& run);

  std::int64_t step() const { return step_; }                                 // the last one; 0: none
  const LastScores& scores() const { return last_scores_; }                   // by task
  const std::map<std::string, double>& losses() const { return last_loss_; }  // likewise, of the last draw
  // Likewise, smoothed as the run's own lines have them, and the last step that drew a task.
  const SmoothedLosses& smoothed() const { return smoothed_; }
  const std::map<std::string, std::int64_t>& drawn() const { return drawn_; }
  // Events that are no weights', by step: {"step", "kind", "words"}.
  const std::vector<nlohmann::ordered_json>& marks() const { return marks_; }
  // What was drawn so far, by task: rows, and draws.
  const std::map<std::string, Curve>& rows() const { return rows_; }
  const std::map<std::string, Curve>& draws() const { return draws_; }
  double seconds() const { return seconds_; }  // of all steps
  double SecondsAfter(std::int64_t step) const;
  // Of a step, the median of the last hundred; NaN: none says so.
  double SecondsOfAStep() const;
  // Scores of a finished evaluation, by task, which `file` has; those of tasks that were scored after a later
  // step are passed over. Throws an InputError where one cannot be read.
  void TakeScores(const std::filesystem::path& file, std::int64_t step, const nlohmann::json& scores);
  // Adds the curves, thinned so that peaks stay: "losses", "scores", "rate", "norm", "speed", "floor",
  // "peak".
  void PutCurves(nlohmann::ordered_json& page) const;
  // Of the time of the steps that say so, the share that this process of the run worked; null: none does.
  nlohmann::ordered_json WorkOf(std::size_t rank) const;
  // What phases did: their changes with memory, and predictions with verdicts. Null where there are none.
  nlohmann::ordered_json Phases() const;

 private:
  void TakeMetrics(const nlohmann::json& line);
  void TakeJump(std::int64_t step, const nlohmann::json& jump);
  void TakeTiming(const nlohmann::json& line);
  void TakeTransition(std::int64_t step, const nlohmann::json& line);

  std::filesystem::path metrics_;
  std::int64_t step_ = 0;
  std::map<std::string, std::map<std::string, Curve>> terms_;
  std::map<std::string, std::vector<nlohmann::ordered_json>> scores_;
  std::map<std::string, double> last_loss_, total_;
  SmoothedLosses smoothed_;
  std::map<std::string, std::int64_t> drawn_;
  std::map<std::string, Curve> rows_, draws_;  // so far
  LastScores last_scores_;
  Curve rate_, norm_, speed_, floor_, peak_;
  std::vector<double> worked_;        // ms, by rank
  std::vector<double> step_seconds_;  // of the last hundred
  double seconds_ = 0;
  Curve seconds_so_far_;
  double shared_ = 0;  // of the steps that several processes shared
  std::vector<nlohmann::ordered_json> marks_, transitions_, jumps_;
};

}  // namespace medley
