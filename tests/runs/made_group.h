#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include <medley/runs/groups.h>

namespace medley::test {

// A run that scored these tasks at its end, after 300 steps; less loss where there is more score.
inline GroupRun MadeGroupRun(std::int64_t seed, const std::map<std::string, double>& scores,
                             const nlohmann::ordered_json& config = nlohmann::ordered_json::object()) {
  GroupRun run{.seed = seed};
  run.rows.config = {{"model", "/m.json"},
                     {"seed", seed},
                     {"eval", {{"seed", 0}}},
                     {"tasks", nlohmann::ordered_json::object()}};
  run.rows.config.update(config);
  for (const auto& [task, value] : scores) {
    ScoreRecord score;
    score.metric = "accuracy";
    score.score = {value, value, value};
    score.rows = score.items = 64;
    score.loss = 1 - value;
    run.scores[task] = {.score = score, .step = 300};
  }
  return run;
}

// Of one task, by seed from 1 on.
inline RunGroup MadeGroup(const std::string& name, const std::vector<double>& values,
                          const nlohmann::ordered_json& config = nlohmann::ordered_json::object()) {
  RunGroup group{.name = name};
  for (const double value : values)
    group.runs.push_back(MadeGroupRun(std::ssize(group.runs) + 1, {{"zoom", value}}, config));
  return group;
}

inline nlohmann::ordered_json WithRate(double rate) { return {{"optimizer", {{"learning_rate", rate}}}}; }

}  // namespace medley::test
