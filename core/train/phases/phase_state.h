#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <medley/config/phases_config.h>
#include <medley/train/phases/forward_account.h>
#include <medley/train/phases/jump_choice.h>
#include <medley/train/phases/loss_watch.h>
#include <medley/train/phases/phase_clock.h>

namespace medley {

// Where a run's phases stand, but for tensors: what the next prediction depends on.
struct PhaseState {
  // `seed`: of the run.
  PhaseState(const PhasesConfig& config, std::uint64_t seed);

  PhaseClock clock;
  LossWatch losses;
  ForwardAccount account;
  JumpChoice jumps;    // along a trend or a line
  JumpChoice repeats;  // of an adapter's last step
  std::int64_t events = 0;
  std::vector<std::string> tasks;  // that were in force at the last step
  double rate = 0;                 // its learning rate, but for the run's schedule; 0: no step was
  std::map<std::string, std::int64_t> rows_at_once;  // of probe rows, that fitted; by task

  nlohmann::json Save() const;
  // Throws what JSON and counts throw; it is then half loaded.
  void Load(const nlohmann::json& state);
};

}  // namespace medley
