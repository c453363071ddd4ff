#pragma once

#include <vector>

#include <medley/run/run.h>

namespace medley {

inline constexpr std::int64_t kCheckedRows = 4;

// What an agent gives for rows that are made up here, of unlike lengths behind two pictures.
std::vector<Parameter> AgentRows(const Model& model, const ModelConfig& config);
// What the model is given, and gives, where the first of a run's tasks that asks it evaluates its first rows.
std::vector<Parameter> TaskRows(const Run& run);

}  // namespace medley
