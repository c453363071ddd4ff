#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include <medley/plugin/registry.h>
#include <medley/run/input_record.h>
#include <medley/run/run.h>

namespace medley {

// What stands in run.json: versions, device, threads, the input files with their sums, the plugin files.
nlohmann::ordered_json RunRecord(const Run& run);
// Behind what is wrong with a run's config: a line that says so where a later medley started the run last;
// else "".
std::string NewerRunWords(const std::filesystem::path& run);
// InputError where a file that the run is made from (the weights file apart) is no longer the one that it
// began with: before anything is built from them. `run`: its directory. Files that the user named as changed
// are not refused, and `old_record` then knows what they are now: see AllowChanged.
struct RecordedInputs {
  std::vector<InputChange> allowed = {};  // that the user named
  std::vector<std::string> moved = {};    // words about files with the same contents elsewhere
  std::set<std::string> known = {};       // keys of the files whose contents are what they should be
  nlohmann::ordered_json now = {};        // what a record says of all of them
};
RecordedInputs RequireRecordedInputs(nlohmann::ordered_json& old_record, const RunInputs& now,
                                     const std::filesystem::path& run,
                                     const std::vector<std::filesystem::path>& changed = {});
// What a user should know of files that lie elsewhere than a record says.
std::vector<std::string> MoveWords(const MovedFiles& moved, const nlohmann::ordered_json& old_record,
                                   const nlohmann::ordered_json& now);
// The keys that two records name, with the same contents.
std::set<std::string> KeysOfSameInputs(const nlohmann::ordered_json& old_record,
                                       const nlohmann::ordered_json& inputs);
// InputError where one of the tasks or the model comes from another plugin than in the record.
void RequireSamePlugins(const nlohmann::ordered_json& old_record, const RunInputs& now);
// InputError where such a file is no longer what the run in `run` began with, or one of `tasks` (kinds) or
// the model comes from another plugin. Returns words for what changed and is taken over from now on (plugins
// that were built anew).
std::vector<std::string> CompareRecord(const nlohmann::ordered_json& old_record,
                                       const nlohmann::ordered_json& now,
                                       const std::vector<std::string>& tasks,
                                       const std::filesystem::path& run);

}  // namespace medley
