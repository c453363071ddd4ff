#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include <medley/config/run_config.h>

namespace medley {

// How long a run's steps take by now, and its evaluations and saves, which come after some of them: what is
// left of a run in seconds. On the trainer's thread.
class RunPace {
 public:
  RunPace(const EvalConfig& evals, const CheckpointConfig& saves);

  // What was measured until now is no longer true: the process is another one.
  void Forget();
  // What was measured counts as one step from now on.
  void BeginAnew();
  // The step with this number, with what came after it, took so long. `decay`: how many steps the run's decay
  // has, or what is left of it: of so many the pace is the mean.
  void Add(std::int64_t step, double seconds, std::int64_t decay);
  bool known() const { return measured_ > 0; }
  // Whether an evaluation or a save is due after the step.
  bool Pauses(std::int64_t step) const { return DueAfter(step) != kNothing; }

  // The mean of about as many steps as a decay has. It follows a machine that becomes slower late, but a
  // single long wait counts only once: what is judged by it cannot be taken back.
  double steady() const { return steady_; }
  // The mean of a tenth of them: soon right, for what is judged again after each step.
  double recent() const { return recent_; }

  // Seconds from `step` until `end` steps are done, evaluated and saved, the last one too, by either mean.
  double Needed(std::int64_t step, std::int64_t end, double pace) const;
  // The largest end up to `most` that is reached in so many seconds, at the recent pace; `step` where none
  // is.
  std::int64_t EndWithin(std::int64_t step, std::int64_t most, double seconds) const;

 private:
  enum Due : std::size_t { kNothing, kEvaluation, kSave, kBoth };
  Due DueAfter(std::int64_t step) const;
  double CostOf(Due due) const;

  std::int64_t eval_every_, save_every_;  // 0: never, or after every step, as a part of it
  std::int64_t measured_ = 0;             // steps alone
  double steady_ = 0, recent_ = 0;
  std::array<std::optional<double>, 4> costs_;  // seconds, as they were of late
};

}  // namespace medley
