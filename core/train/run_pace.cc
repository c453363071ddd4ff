#include <medley/train/run_pace.h>

#include <algorithm>
#include <numeric>

namespace medley {
namespace {

constexpr std::int64_t kRecentPart = 10;   // of a decay
constexpr std::int64_t kRecentSteps = 10;  // at least: unlike tasks cost unlike

// What is due after every step is a part of it.
std::int64_t PeriodOf(std::int64_t every) { return every > 1 ? every : 0; }

bool IsDue(std::int64_t step, std::int64_t every) { return every > 0 && step % every == 0; }

std::int64_t TimesDue(std::int64_t after, std::int64_t until, std::int64_t every) {
  return every > 0 ? until / every - after / every : 0;
}

// 0: not among so many steps.
std::int64_t PeriodOfBoth(std::int64_t one, std::int64_t other, std::int64_t steps) {
  if (one <= 0 || other <= 0) return 0;
  const std::int64_t part = one / std::gcd(one, other);
  return part > steps / other ? 0 : part * other;
}

}  // namespace

RunPace::RunPace(const EvalConfig& evals, const CheckpointConfig& saves)
    : eval_every_(PeriodOf(evals.every)), save_every_(PeriodOf(saves.every)) {}

void RunPace::Forget() {
  measured_ = 0;
  steady_ = recent_ = 0;
  costs_ = {};
}

void RunPace::BeginAnew() { measured_ = std::min<std::int64_t>(measured_, 1); }

RunPace::Due RunPace::DueAfter(std::int64_t step) const {
  const bool evaluates = IsDue(step, eval_every_), saves = IsDue(step, save_every_);
  return static_cast<Due>((evaluates ? kEvaluation : kNothing) | (saves ? kSave : kNothing));
}

void RunPace::Add(std::int64_t step, double seconds, std::int64_t decay) {
  const Due due = DueAfter(step);
  if (due != kNothing && known()) {
    const double cost = std::max(0.0, seconds - recent_);
    costs_[due] = costs_[due] ? (*costs_[due] + cost) / 2 : cost;
    return;
  }
  ++measured_;
  const auto move = [&](double& mean, std::int64_t window) {
    mean += (seconds - mean) / static_cast<double>(std::clamp<std::int64_t>(window, 1, measured_));
  };
  move(steady_, decay);
  move(recent_, std::max(decay / kRecentPart, kRecentSteps));
}

// Of what never came alone, what came together with the other: as an evaluation that is all of it, as a save
// nothing, for that is the smaller part.
double RunPace::CostOf(Due due) const {
  if (due == kNothing) return 0;
  if (costs_[due]) return *costs_[due];
  if (due == kBoth) return costs_[kEvaluation].value_or(0) + costs_[kSave].value_or(0);
  return due == kEvaluation ? costs_[kBoth].value_or(0) : 0;
}

double RunPace::Needed(std::int64_t step, std::int64_t end, double pace) const {
  const std::int64_t both = TimesDue(step, end, PeriodOfBoth(eval_every_, save_every_, end));
  const std::int64_t evaluations = TimesDue(step, end, eval_every_) - both,
                     saves = TimesDue(step, end, save_every_) - both + (IsDue(end, save_every_) ? 0 : 1);
  return static_cast<double>(end - step) * pace + static_cast<double>(both) * CostOf(kBoth) +
         static_cast<double>(evaluations) * CostOf(kEvaluation) + static_cast<double>(saves) * CostOf(kSave);
}

std::int64_t RunPace::EndWithin(std::int64_t step, std::int64_t most, double seconds) const {
  std::int64_t fits = step, fails = std::max(step, most) + 1;
  while (fails - fits > 1) {
    const std::int64_t middle = fits + (fails - fits) / 2;
    (Needed(step, middle, recent_) <= seconds ? fits : fails) = middle;
  }
  return fits;
}

}  // namespace medley
