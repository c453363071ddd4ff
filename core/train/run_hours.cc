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
constexpr double kSettling = 0.02;     // of the hours
constexpr double kTolerance = 0.1;     // of the time that is left
constexpr double kWorthSaying = 0.25;  // of the steps that were left

[[noreturn]] void FailAt(const std::string& key, const json& value) {
  throw Error(std::string("the saved progress cannot be used: ") + kKey + "." + key + " is " + value.dump() +
              "; take an older checkpoint");
}

json In(const json& object, const char* key) {
  return object.is_object() ? object.value(key, json()) : json();
}

std::int64_t Count(const json& object, const char* key) {
  const json value = In(object, key);
  if (value.is_number_integer() && value >= 0) return value.get<std::int64_t>();
  FailAt(key, value);
}

double Scale(const json& object, const char* key) {
  const json value = In(object, key);
  if (value.is_number() && value >= 0) return value.get<double>();
  FailAt(key, value);
}

std::string InAbout(double seconds) { return "in about " + FormatSeconds(seconds); }

}  // namespace

RunHours::RunHours(const RunConfig& config, Console& console, SecondsSource now,
                   std::optional<RunScript> script)
    : hours_(config.hours),
      steps_(config.steps),
      optimizer_(config.optimizer),
      console_(console),
      now_(std::move(now)),
      script_(std::move(script)),
      decay_(DecayOf(config.optimizer, config.steps)),
      begun_(decay_),
      pace_(config.eval, config.checkpoint) {}

bool RunHours::CanMove() const {
  return optimizer_.schedule == "wsd" && optimizer_.decay_fraction > 0 && optimizer_.decay_fraction < 1;
}

// The first steps of a process load its tasks, and tell little of the others.
bool RunHours::IsSettled() const { return passed_ >= kSettling * hours_ * kSecondsPerHour; }

void RunHours::Start(std::int64_t step) {
  last_now_ = now_();
  passed_ = since_step_ = 0;
  settled_ = false;
  pace_.Forget();
  last_step_ = step;
  latest_end_ = said_end_ = decay_.end();
  if (!is_early()) return;
  const std::string steps = std::to_string(begun_.start) + " to " + std::to_string(decay_.end());
  const std::string how = BeganEarly() ? "began early" : "was shortened";
  console_.Say(step < decay_.end()
                   ? "the run's decay goes on: it " + how + ", for its hours, and takes steps " + steps
                   : "the run is done: it " + (BeganEarly() ? "decayed early" : how) +
                         ", for its hours, in steps " + steps +
                         ". For more: medley resume with --steps N (N in all, not " + std::to_string(steps_) +
                         "), or with more hours");
}

std::vector<DecayMove> RunHours::Watch(std::int64_t step) {
  Measure(step);
  std::vector<DecayMove> moves;
  if (!CanMove()) return moves;
  if (script_) {
    Follow(step, moves);
  } else if (MustBegin(step)) {
    moves.push_back(Begin(step));
  } else if (IsSettled()) {
    if (const auto end = OtherEnd(step)) moves.push_back(MoveEnd(step, *end));
  }
  return moves;
}

// A clock that is set back costs nothing, one that jumps ahead the time that it jumps.
void RunHours::Measure(std::int64_t step) {
  const double now = now_();
  const double passed = std::max(0.0, now - last_now_);
  last_now_ = now;
  passed_ += passed;
  since_step_ += passed;
  if (step == last_step_ || !CanMove()) return;
  last_step_ = step;
  const std::int64_t decay = step < decay_.start ? DecayFrom(optimizer_, step).steps
                                                 : std::max<std::int64_t>(0, decay_.end() - step);
  const double seconds = std::exchange(since_step_, 0);
  if (!TakesSaveFor(step)) pace_.Add(step, seconds, decay);
  if (!settled_ && IsSettled()) pace_.BeginAnew();
  settled_ = IsSettled();
}

// The step's time has a save that comes once, behind before_fall(): it is no pace.
bool RunHours::TakesSaveFor(std::int64_t step) const {
  return before_fall() == (BeganEarly() ? step - 1 : step);
}

bool RunHours::MustBegin(std::int64_t step) const {
  if (hours_ <= 0 || !pace_.known() || step >= decay_.start) return false;
  // The first steps load tasks: no pace to judge by, above all in a resume, whose decay would be long. A run
  // that was not resumed comes to its decay ten times later.
  const double seconds = hours_ * kSecondsPerHour;
  if (passed_ < (1 - optimizer_.decay_fraction) / 10 * seconds) return false;
  const std::int64_t later = std::min(steps_ - step, 1 + DecayFrom(optimizer_, step + 1).steps);
  return passed_ + pace_.Needed(step, step + later, pace_.steady()) > seconds;
}

// Where it should be another one by more than a step and a tenth of what is left: a clock is never quite
// right, each move is written down, and towards the end a tenth is little. No step begins after the hours.
std::optional<std::int64_t> RunHours::OtherEnd(std::int64_t step) const {
  const std::int64_t end = decay_.end();
  if (hours_ <= 0 || !pace_.known() || step < decay_.start || step >= end) return std::nullopt;
  const double left = SecondsLeft(), pace = pace_.recent(), needed = pace_.Needed(step, end, pace);
  if (left <= 0) return step;
  const std::int64_t other = pace_.EndWithin(step, latest_end_, left);
  if (other < end && needed > left + std::max(pace, kTolerance * left)) return other;
  // To take back what was given away is less urgent.
  if (other > end && needed < left - std::max(pace, 2 * kTolerance * left)) return other;
  return std::nullopt;
}

DecayMove RunHours::Begin(std::int64_t step) {
  decay_ = DecayFrom(optimizer_, step);
  latest_end_ = decay_.end();
  decay_.steps = OtherEnd(step).value_or(decay_.end()) - step;
  begun_ = decay_;
  said_end_ = decay_.end();
  console_.Say(
      "step " + std::to_string(step) + ": the run's hours, " + FormatNumber(hours_) + ", do not last for " +
      std::to_string(steps_) + " steps; from here on the learning rate falls, and the run ends after step " +
      std::to_string(decay_.end()) + ", " + InAbout(pace_.Needed(step, decay_.end(), pace_.recent())));
  return {.begins = true,
          .step = step,
          .ends = decay_.end(),
          .of_steps = steps_,
          .words = "the learning rate falls from here on, and the run ends after step " +
                   std::to_string(decay_.end())};
}

DecayMove RunHours::MoveEnd(std::int64_t step, std::int64_t end) {
  const std::int64_t before = decay_.end();
  decay_ = RestOf(optimizer_, decay_, step, end);
  if (!script_) SayEnd(step, before);
  return {.begins = false,
          .step = step,
          .ends = end,
          .of_steps = steps_,
          .words = "the run ends after step " + std::to_string(end) + ", not " + std::to_string(before)};
}

// Not each of many small moves.
void RunHours::SayEnd(std::int64_t step, std::int64_t before) {
  const std::int64_t end = decay_.end();
  const auto moved = static_cast<double>(std::abs(end - said_end_)),
             left = static_cast<double>(std::max<std::int64_t>(1, said_end_ - step));
  if (moved < kWorthSaying * left || moved < kSettling * static_cast<double>(begun_.steps)) return;
  said_end_ = end;
  const std::string at = "step " + std::to_string(step) + ": ";
  if (end == step)
    return console_.Say(at + "the run's hours, " + FormatNumber(hours_) +
                        ", are over: it ends here, with its learning rate at " + FormatNumber(decay_.from) +
                        " of what it was before the decay");
  console_.Say(at +
               (end < before ? "steps take longer than when the decay began, so it is shortened"
                             : "steps take less time again, so the decay is longer again") +
               " for the run's hours, " + FormatNumber(hours_) + ": the run ends after step " +
               std::to_string(end) + ", " + InAbout(pace_.Needed(step, end, pace_.recent())));
}

void RunHours::Follow(std::int64_t step, std::vector<DecayMove>& moves) {
  for (const DecayMove& move : script_->decays) {
    if (move.step != step || (move.of_steps > 0 && move.of_steps != steps_)) continue;
    if (move.begins && step < decay_.start) {
      decay_ = DecayFrom(optimizer_, step);
      if (move.ends > 0) decay_.steps = move.ends - step;
      begun_ = decay_;
      moves.push_back(move);
      console_.Say("step " + std::to_string(step) + ", as in the run that is repeated: " + move.words);
    } else if (!move.begins && step >= decay_.start && move.ends != decay_.end()) {
      moves.push_back(MoveEnd(step, move.ends));
    }
  }
}

double RunHours::SecondsLeft() const {
  if (hours_ <= 0 || script_) return std::numeric_limits<double>::infinity();
  return std::max(0.0, hours_ * kSecondsPerHour - passed_);
}

void RunHours::Save(json& progress) const {
  if (decay_ == DecayOf(optimizer_, steps_)) return;
  if (BeganEarly() && before_fall() && In(progress, "step") == begun_.start) return;
  json& key = progress[kKey] = {{"start", begun_.start}, {"of_steps", steps_}};
  if (!BeganEarly() || decay_ != DecayFrom(optimizer_, begun_.start))
    key["rest"] = {{"start", decay_.start}, {"end", decay_.end()}, {"scale", decay_.from}};
}

void RunHours::Load(const json& progress) {
  decay_ = begun_ = DecayOf(optimizer_, steps_);
  const auto saved = progress.find(kKey);
  if (saved == progress.end()) return;
  const std::int64_t start = Count(*saved, "start"), of_steps = Count(*saved, "of_steps");
  const json rest = In(*saved, "rest");
  std::optional<Decay> left;
  if (!rest.is_null()) {
    left = {.start = Count(rest, "start"), .steps = 0, .from = Scale(rest, "scale")};
    left->steps = Count(rest, "end") - left->start;
    if (left->steps < 0) FailAt("rest", rest);
  }
  // Where decay_fraction was changed, the decay of the steps may now come first.
  if (of_steps != steps_ || !CanMove() || start > decay_.start) return;
  if (start < decay_.start) decay_ = begun_ = DecayFrom(optimizer_, start);
  if (left && left->start >= start && left->end() <= begun_.end()) decay_ = *left;
}

}  // namespace medley
