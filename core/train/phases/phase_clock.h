#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include <medley/config/field.h>
#include <medley/config/phases_config.h>

namespace medley {

// What a step of a run with phases is. A prediction is none of them: it is an event between two steps.
enum class Phase { kWarmup, kFull, kCorrect };
template <>
struct EnumNames<Phase> {
  static constexpr std::array<std::string_view, 3> kNames = {"warmup", "full", "correct"};
};

// Which phase the next step is of: warm up, then full, and after each jump so many steps that correct it.
class PhaseClock {
 public:
  // Steps from one repetition of an adapter's last step to the next.
  static constexpr std::int64_t kFastForward = 6;

  explicit PhaseClock(const PhasesConfig& config);

  Phase now() const { return now_; }
  // A step of the present phase was done.
  void Trained();
  // The next step is the first after a jump.
  void Jumped();
  // Nothing is predicted before `full` has lasted its steps again. A warm-up goes on.
  void Settle();

  // Whether weights may be predicted between the last step and the next: after every full_steps of a phase
  // `full`. Whether the last step may be repeated there.
  bool Predicts() const;
  bool FastForwards() const;
  // Steps between two snapshots, and the one that is due after the last step: 0 to 4 in every full_steps.
  std::int64_t spacing() const;
  std::optional<int> Snapshot() const;

  nlohmann::json Save() const;
  // Throws what JSON and counts throw. Where the config's full_steps are others than those that were saved,
  // `full` begins again.
  void Load(const nlohmann::json& state);

 private:
  PhasesConfig config_;
  Phase now_;
  std::int64_t done_ = 0;  // steps of it
};

}  // namespace medley
