#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include <medley/runs/group_comparison.h>

namespace medley {

// For people, as wide as the screen: what must be read first, the groups, scores and differences by task.
std::string GroupsWords(const GroupComparison& comparison);
// {before, groups: [{label, name, seeds, differs, better, worse, alike}], tasks: {name: row}, mean_loss: row,
// confidence, after}; a row is {metric, better, cells: [{values: {seed: value}, mean, low, high,
// difference: null or {value, low, high, paired, pairs, verdict}}]}.
nlohmann::ordered_json GroupsJson(const GroupComparison& comparison);

}  // namespace medley
