#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include <medley/base/clock.h>
#include <medley/config/run_config.h>
#include <medley/report/console.h>
#include <medley/step/schedule.h>

namespace medley {

// What a clock or a person decided in the run that another one repeats.
struct RunScript {
  std::int64_t last_step = 0;                // after which it ends
  bool unevaluated = false;                  // it ends before that step is evaluated and written down
  std::set<std::int64_t> early_decays = {};  // steps after which its decay began early
};

// Sees to it that a run which has `hours` ends decayed. Where its steps would take longer, the decay begins
// early: at the step from which decay_fraction / (1 - decay_fraction) times the steps done would just finish
// in time, at the pace of the last steps. A decay that has begun is finished, be it early or not.
// With decay_fraction 0 or 1, or another schedule, there is none to begin, and the run stops when its hours
// are over.
//
// On the trainer's thread: Load, if at all, before Start, and Start before the first Watch.
class RunHours {
 public:
  // Keeps a reference to the console. With a script no clock decides anything.
  RunHours(const RunConfig& config, Console& console, SecondsSource now = SteadySeconds,
           std::optional<RunScript> script = std::nullopt);

  // The hours count from here, where the run starts or is resumed after so many steps.
  void Start(std::int64_t step);
  // After each step, with the number of steps done. Says so where the decay begins early.
  void Watch(std::int64_t step);

  // The decay in force; its end is the run's.
  const Decay& decay() const { return decay_; }
  bool is_early() const { return decay_.end() < steps_; }
  // The run must stop as it is.
  bool over() const { return !CanBeEarly() && SecondsLeft() <= 0; }
  // The script ends after this step, or before it is evaluated.
  bool ends_at(std::int64_t step) const { return script_ && step >= script_->last_step; }
  bool ends_within(std::int64_t step) const {
    return script_ && (step > script_->last_step || (step == script_->last_step && script_->unevaluated));
  }
  // Until the run or its decay should be over, 0 where it should be by now; infinity where the hours do not
  // count, or no longer.
  double SecondsLeft() const;

  // Its key of the progress section, which stands there only where the decay began early. It holds for runs
  // of as many steps: with others the schedule is a new one. Error where the key cannot be used.
  void Save(nlohmann::json& progress) const;
  void Load(const nlohmann::json& progress);

 private:
  bool CanBeEarly() const;
  void Measure(std::int64_t step);
  bool MustBegin(std::int64_t step) const;
  void Begin(std::int64_t step);

  double hours_;
  std::int64_t steps_;
  OptimizerConfig optimizer_;
  Console& console_;
  SecondsSource now_;
  std::optional<RunScript> script_;
  Decay decay_;
  // Since the start, in seconds:
  double last_now_ = 0, passed_ = 0, since_step_ = 0;
  double pace_ = 0;  // of a step, with what is done between steps
  std::int64_t last_step_ = 0, measured_ = 0;
};

}  // namespace medley
