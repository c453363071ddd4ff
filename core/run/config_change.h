#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include <medley/checkpoint/checkpoint_facts.h>

namespace medley {

// What a run that goes on may take over from a changed config, and what it may not.

// The resolved config that a checkpoint was trained with: its own, or for an older one the file of the run
// that has its sum. Null where none has.
nlohmann::ordered_json TrainedConfig(const std::filesystem::path& run, const CheckpointFacts& facts);
// The tasks that a checkpoint was trained on.
std::set<std::string> TrainedTasks(const std::filesystem::path& checkpoint);

// The ConfigDifferences of a run that goes on. An InputError names all that cannot change: the seed, how many
// draws a step has, what the run began with, what decides which tensors the optimizer keeps, and of tasks
// that were trained the rows, the variant and the options. A key that one of the two lacks has its default
// there.
std::vector<std::string> CompareConfigs(const nlohmann::ordered_json& before,
                                        const nlohmann::ordered_json& now,
                                        const std::set<std::string>& trained);

}  // namespace medley
