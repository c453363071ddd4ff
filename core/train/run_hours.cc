#include <medley/train/run_hours.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include <medley/base/error.h>
#include <medley/report/table.h>

namespace medley {
namespace {

using nlohmann::json;

constexpr const char* kKey = "early_decay";
constexpr double kSecondsPerHour = 3600;

std::int64_t Count(const json& object, const char* key) {
  const json value = object.is_object() ? object.value(key, json()) : json();
  if (value.is_number_integer() && value >= 0) return value.get<std::int64_t>();
  throw Error(std::string("the saved progress cannot be used: ") + kKey + "." + key + " is " + value.dump() +
              "; take an older checkpoint");
}

}  // namespace

RunHours::RunHours(const RunConfig& config, Console& console, SecondsSource now,
                   std::optional<RunScript> script)
    : hours_(config.hours),
      steps_(config.steps),
      optimizer_(config.optimizer),
      console_(console),
      now_(std::move(now)),
      script_(std::move(script)),
      decay_(DecayOf(config.optimizer, config.steps)) {}

bool RunHours::CanBeEarly() const {
  return optimizer_.schedule == "wsd" && optimizer_.decay_fraction > 0 && optimizer_.decay_fraction < 1;
}

void RunHours::Start(std::int64_t step) {
  last_now_ = now_();
  passed_ = since_step_ = pace_ = 0;
  last_step_ = step;
  measured_ = 0;
  if (!is_early()) return;
  const std::string steps = std::to_string(decay_.start) + " to " + std::to_string(decay_.end());
  console_.Say(step < decay_.end()
                   ? "the run's decay goes on: it began early, for its hours, and takes steps " + steps
                   : "the run is done: it decayed early, for its hours, in steps " + steps +
                         ". For more: medley resume with --steps N (N in all, not " + std::to_string(steps_) +
                         ")");
}

void RunHours::Watch(std::int64_t step) {
  Measure(step);
  if (MustBegin(step)) Begin(step);
}

// A clock that is set back costs nothing, one that jumps ahead the time that it jumps.
void RunHours::Measure(std::int64_t step) {
  const double now = now_();
  const double passed = std::max(0.0, now - last_now_);
  last_now_ = now;
  passed_ += passed;
  since_step_ += passed;
  if (step == last_step_ || !CanBeEarly()) return;
  last_step_ = step;
  ++measured_;
  // The mean of about as many steps as the decay will have, with their evaluations and checkpoints. Of fewer
  // it would follow a machine that becomes slower sooner, but a single long wait would count several times.
  const std::int64_t window = std::clamp<std::int64_t>(DecayFrom(optimizer_, step).steps, 1, measured_);
  pace_ += (since_step_ - pace_) / static_cast<double>(window);
  since_step_ = 0;
}

bool RunHours::MustBegin(std::int64_t step) const {
  if (script_) return CanBeEarly() && !is_early() && script_->early_decays.count(step) > 0;
  if (hours_ <= 0 || !CanBeEarly() || measured_ == 0 || is_early() || step >= decay_.start) return false;
  // The first steps load tasks: no pace to judge by, above all in a resume, whose decay would be long. A run
  // that was not resumed comes to its decay ten times later.
  const double seconds = hours_ * kSecondsPerHour;
  if (passed_ < (1 - optimizer_.decay_fraction) / 10 * seconds) return false;
  const std::int64_t later = std::min(steps_ - step, 1 + DecayFrom(optimizer_, step + 1).steps);
  return passed_ + static_cast<double>(later) * pace_ > seconds;
}

void RunHours::Begin(std::int64_t step) {
  const double left = SecondsLeft();
  decay_ = DecayFrom(optimizer_, step);
  const double needed = static_cast<double>(decay_.steps) * pace_;
  std::string words = "step " + std::to_string(step) + ": the run's hours, " + FormatNumber(hours_) +
                      ", do not last for " + std::to_string(steps_) +
                      " steps; from here on the learning rate falls, and the run ends after step " +
                      std::to_string(decay_.end()) + ", in about " + FormatSeconds(needed);
  if (needed > left + pace_) words += ", " + FormatSeconds(needed - left) + " later than its hours";
  console_.Say(words);
}

double RunHours::SecondsLeft() const {
  const bool decays = CanBeEarly() && last_step_ >= decay_.start;
  if (hours_ <= 0 || decays || script_) return std::numeric_limits<double>::infinity();
  return std::max(0.0, hours_ * kSecondsPerHour - passed_);
}

void RunHours::Save(json& progress) const {
  if (is_early()) progress[kKey] = {{"start", decay_.start}, {"of_steps", steps_}};
}

void RunHours::Load(const json& progress) {
  decay_ = DecayOf(optimizer_, steps_);
  const auto saved = progress.find(kKey);
  if (saved == progress.end()) return;
  const std::int64_t start = Count(*saved, "start"), of_steps = Count(*saved, "of_steps");
  // Where decay_fraction was changed, the decay of the steps may now come first.
  if (of_steps == steps_ && CanBeEarly() && start < decay_.start) decay_ = DecayFrom(optimizer_, start);
}

}  // namespace medley
