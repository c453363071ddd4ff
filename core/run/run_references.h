#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include <medley/report/console.h>
#include <medley/run/references_check.h>
#include <medley/run/run.h>

namespace medley {

// The further weights of a run (update/references.h): which its tasks ask, where they come from, and how they
// stay the same. What is no average lies once in RUN/references/NAME.safetensors, whose sum run.json has.

inline constexpr const char* kReferences = "references";  // the folder, and the key of run.json

// Those that passes of a run's named forms ask.
std::set<std::string> AskedReferences(const Run& run);
// By name, what the config lets train.
std::set<std::string> TrainedNames(const Run& run, const Model& model);
// Without values so far. `begun`: the names of those that the run has kept since it began, which an
// InputError names where a task asks for another one, and which are then to be restored; nothing: it begins.
std::unique_ptr<References> MakeReferences(const Run& run, const std::optional<std::set<std::string>>& begun);
// An InputError where the form asks for one that the run does not keep.
void RequireReferences(const Run& run, const Form& form);
// What run.json says of them; none where it lacks them.
std::set<std::string> ReferencesOf(const std::filesystem::path& directory);
// The run begins with the weights that its model has now. Returns words about weights of other runs; an
// InputError where these are not of its model, or not there.
std::vector<std::string> BeginReferences(const Run& run, Console& console);
// The same of a run that repeats the one in `original`, whose kept ones it takes.
void RepeatReferences(const Run& run, const std::filesystem::path& original);
// Writes those that are no averages into the run's directory.
void SaveReferences(const Run& run, const std::filesystem::path& directory);
// The sums of these files, by name.
nlohmann::ordered_json ReferencesRecord(const Run& run, const std::filesystem::path& directory);
// Takes them from a run's directory: an InputError where one is not there, or not what run.json says. With a
// checkpoint, of a run that is not trained, averages are taken from that, and who asks for one that is not
// there gets the error.
void RestoreReferences(const Run& run, const std::filesystem::path& directory,
                       const std::filesystem::path& checkpoint = {});

}  // namespace medley
