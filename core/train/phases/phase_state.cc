#include <medley/train/phases/phase_state.h>

#include <medley/base/json_count.h>
#include <medley/train/phases/jump_trial.h>

namespace medley {

using nlohmann::json;

PhaseState::PhaseState(const PhasesConfig& config, std::uint64_t seed)
    : clock(config),
      account(config.allowance),
      jumps({Direction::kTrend, Direction::kLine}, seed),
      repeats({Direction::kLastStep}, seed) {}

json PhaseState::Save() const {
  return {{"clock", clock.Save()},
          {"losses", losses.Save()},
          {"account", account.Save()},
          {"jumps", jumps.Save()},
          {"repeats", repeats.Save()},
          {"events", events},
          {"tasks", tasks},
          {"rate", rate},
          {"rows_at_once", rows_at_once}};
}

void PhaseState::Load(const json& state) {
  clock.Load(state.at("clock"));
  losses.Load(state.at("losses"));
  account.Load(state.at("account"));
  jumps.Load(state.at("jumps"));
  repeats.Load(state.at("repeats"));
  events = CountOf(state, "events", 0, INT64_MAX / JumpTrial::kRows / 2);
  tasks = state.at("tasks").get<std::vector<std::string>>();
  rate = state.at("rate").get<double>();
  rows_at_once.clear();
  for (const auto& [task, rows] : state.at("rows_at_once").items())
    rows_at_once[task] = CheckedCount(rows, "rows_at_once of " + task, 1, JumpTrial::kPieceRows);
}

}  // namespace medley
