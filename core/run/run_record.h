#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <medley/config/run_config.h>
#include <medley/plugin/registry.h>
#include <medley/run/run.h>

namespace medley {

// What stands in run.json: versions, device, threads, the input files with their sums, the plugin files.
nlohmann::ordered_json RunRecord(const Run& run);
// InputError where a file that the config names (the weights file apart) is no longer the one that the run
// began with: before anything is built from them.
void RequireRecordedInputs(const nlohmann::ordered_json& old_record, const RunConfig& now,
                           const Registry& registry, const std::filesystem::path& pretrained = {});
// InputError where such a file is no longer what the run began with, or one of `tasks` or the model comes
// from another plugin. Returns words for what changed and is taken over from now on (weights file, plugins
// that were built anew).
std::vector<std::string> CompareRecord(const nlohmann::ordered_json& old_record,
                                       const nlohmann::ordered_json& now,
                                       const std::vector<std::string>& tasks);

}  // namespace medley
