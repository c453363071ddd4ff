#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include <medley/base/clock.h>
#include <medley/config/run_config.h>
#include <medley/report/console.h>
#include <medley/step/schedule.h>
#include <medley/train/run_pace.h>

namespace medley {

// What the clock decided about a run's decay.
struct DecayMove {
  bool begins = false;        // early; else the end of one that has begun is another
  std::int64_t step = 0;      // after which it holds
  std::int64_t ends = 0;      // the run's steps from now on; 0, in logs of older medleys: as DecayFrom says
  std::int64_t of_steps = 0;  // the config's; 0, in logs of older medleys: not known
  std::string words{};        // for the log
};

// What a clock or a person decided in the run that another one repeats.
struct RunScript {
  std::int64_t last_step = 0;          // after which it ends
  bool unevaluated = false;            // it ends before that step is evaluated and written down
  std::vector<DecayMove> decays = {};  // in their order
};

// Sees to it that a run which has `hours` ends within them, decayed. Where its steps would take longer, the
// decay begins early: at the step from which decay_fraction / (1 - decay_fraction) times the steps done would
// just finish in time, at the pace of the last steps. What is left of a decay that has begun, early or not,
// is fitted again after each step: it ends sooner where it would miss the time by more than a step and a
// tenth of what is left, and later again where steps become faster, but never later than it would have when
// it began or the run was resumed. So the run ends in its hours, or one step and its evaluation later.
// With decay_fraction 0 or 1, or another schedule, there is no decay to fit, and the run stops when its hours
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
  // After each step, with the number of steps done. Says what it decides, and returns it.
  std::vector<DecayMove> Watch(std::int64_t step);
  // The time is to be as of now when this step is watched: it was evaluated or saved.
  bool NeedsTime(std::int64_t step) const { return hours_ > 0 && !script_ && pace_.Pauses(step); }

  // What is left of the decay in force; its end is the run's.
  const Decay& decay() const { return decay_; }
  // All of it, as it began.
  const Decay& begun() const { return begun_; }
  // The step behind which it falls: see StepBeforeFall.
  std::optional<std::int64_t> before_fall() const { return StepBeforeFall(optimizer_, begun_); }
  bool is_early() const { return decay_.end() < steps_; }
  // The run must stop as it is.
  bool over() const { return !CanMove() && SecondsLeft() <= 0; }
  // The script ends after this step, or before it is evaluated.
  bool ends_at(std::int64_t step) const { return script_ && step >= script_->last_step; }
  bool ends_within(std::int64_t step) const {
    return script_ && (step > script_->last_step || (step == script_->last_step && script_->unevaluated));
  }
  // Until the run should be over, 0 where it should be by now; infinity where no clock decides.
  double SecondsLeft() const;

  // Its key of the progress section, which stands there only where the decay is not that of the steps, and a
  // step of it was trained: a checkpoint of before_fall() knows nothing of it. It holds for runs of as many
  // steps: with others the schedule is a new one. Error where the key cannot be used.
  void Save(nlohmann::json& progress) const;
  void Load(const nlohmann::json& progress);

 private:
  bool CanMove() const;
  bool TakesSaveFor(std::int64_t step) const;
  bool BeganEarly() const { return begun_.start < DecayOf(optimizer_, steps_).start; }
  bool IsSettled() const;
  void Measure(std::int64_t step);
  bool MustBegin(std::int64_t step) const;
  std::optional<std::int64_t> OtherEnd(std::int64_t step) const;
  DecayMove Begin(std::int64_t step);
  DecayMove MoveEnd(std::int64_t step, std::int64_t end);
  void SayEnd(std::int64_t step, std::int64_t before);
  void Follow(std::int64_t step, std::vector<DecayMove>& moves);

  double hours_;
  std::int64_t steps_;
  OptimizerConfig optimizer_;
  Console& console_;
  SecondsSource now_;
  std::optional<RunScript> script_;
  Decay decay_, begun_;
  std::int64_t latest_end_ = 0;  // that the decay may have
  std::int64_t said_end_ = 0;
  RunPace pace_;
  double last_now_ = 0, passed_ = 0, since_step_ = 0;  // seconds since the start
  bool settled_ = false;
  std::int64_t last_step_ = 0;
};

}  // namespace medley
