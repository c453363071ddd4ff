#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <medley/config/run_config.h>
#include <medley/plugin/registry.h>
#include <medley/run/input_record.h>
#include <medley/run/run.h>

namespace medley {

// What stands in run.json: versions, device, threads, the input files with their sums, the plugin files.
nlohmann::ordered_json RunRecord(const Run& run);
// InputError where a file that the run is made from (the weights file apart) is no longer the one that it
// began with: before anything is built from them. `run`: its directory. Files that the user named as changed
// are not refused, and `old_record` then knows what they are now: see AllowChanged.
std::vector<InputChange> RequireRecordedInputs(nlohmann::ordered_json& old_record, const CheckedRun& now,
                                               const Registry& registry, const std::filesystem::path& run,
                                               const std::vector<std::filesystem::path>& changed = {});
// InputError where such a file is no longer what the run in `run` began with, or one of `tasks` or the model
// comes from another plugin. Returns words for what changed and is taken over from now on (plugins that were
// built anew).
std::vector<std::string> CompareRecord(const nlohmann::ordered_json& old_record,
                                       const nlohmann::ordered_json& now,
                                       const std::vector<std::string>& tasks,
                                       const std::filesystem::path& run);

}  // namespace medley
