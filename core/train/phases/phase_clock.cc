#include <medley/train/phases/phase_clock.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include <medley/base/json_count.h>
#include <medley/update/directions.h>

namespace medley {

using nlohmann::json;

PhaseClock::PhaseClock(const PhasesConfig& config)
    : config_(config), now_(config.warmup_steps > 0 ? Phase::kWarmup : Phase::kFull) {}

void PhaseClock::Trained() {
  ++done_;
  const bool over = (now_ == Phase::kWarmup && done_ >= config_.warmup_steps) ||
                    (now_ == Phase::kCorrect && done_ >= config_.correct_steps);
  if (!over) return;
  now_ = Phase::kFull;
  done_ = 0;
}

void PhaseClock::Jumped() {
  now_ = Phase::kCorrect;
  done_ = 0;
}

void PhaseClock::Settle() {
  if (now_ == Phase::kWarmup) return;
  now_ = Phase::kFull;
  done_ = 0;
}

bool PhaseClock::Predicts() const {
  return now_ == Phase::kFull && done_ > 0 && done_ % config_.full_steps == 0;
}

bool PhaseClock::FastForwards() const {
  return now_ == Phase::kFull && done_ > 0 && done_ % kFastForward == 0;
}

std::int64_t PhaseClock::spacing() const { return config_.full_steps / Directions::kSnapshots; }

std::optional<int> PhaseClock::Snapshot() const {
  if (now_ != Phase::kFull || done_ == 0) return std::nullopt;
  const std::int64_t place = (done_ - 1) % config_.full_steps + 1;
  if (place % spacing() != 0 || place / spacing() > Directions::kSnapshots) return std::nullopt;
  return static_cast<int>(place / spacing()) - 1;
}

json PhaseClock::Save() const {
  return {{"now", EnumName(now_)}, {"done", done_}, {"full_steps", config_.full_steps}};
}

void PhaseClock::Load(const json& state) {
  const auto name = state.at("now").get<std::string>();
  const auto& names = EnumNames<Phase>::kNames;
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) throw std::out_of_range("'" + name + "' is no phase");
  now_ = static_cast<Phase>(found - names.begin());
  done_ = CountOf(state, "done");
  if (CountOf(state, "full_steps") != config_.full_steps) Settle();
}

}  // namespace medley
