#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include <medley/config/run_config.h>
#include <medley/plugin/registry.h>

namespace medley {

// The files that a run is made from, with their sums, by the key that names them: "model", "tokenizer",
// "tasks.NAME.options.OPTION". Of a file above 64 MiB, and of a folder with all below it, the sum is that of
// names, sizes and times, and another one, for a copy that lies elsewhere, that of sizes and of 64 samples of
// what is in it. `pretrained`, the Hugging Face folder of the model ("": none), has two: "pretrained" is its
// config.json, and "pretrained_weights" what its index and the headers of its weights say. So has `tower`,
// the folder of its tower: "pretrained_tower" and "pretrained_tower_weights"; and where it has one,
// "pretrained_preprocessor" is its preprocessor_config.json, or its processor_config.json.
nlohmann::ordered_json InputRecord(const RunConfig& config, const Registry& registry,
                                   const std::filesystem::path& pretrained = {},
                                   const std::filesystem::path& tower = {});

// The files and folders among these that a run config names, by key.
std::vector<std::pair<std::string, std::filesystem::path>> InputPaths(const RunConfig& config,
                                                                      const Registry& registry);
// What the record says of one of them.
nlohmann::ordered_json InputAt(const std::filesystem::path& path);

// One of them, beside what a record says of it.
struct InputChange {
  std::string name;               // the key
  std::string path, before, now;  // sums: equal where nothing changed
  std::string from;               // where it lay when the record was written
  bool by_samples = false;        // the sums are of samples of what is in it

  bool any() const { return before != now; }
  bool moved() const { return path != from; }
  // "PATH (KEY): XXH3-128 BEFORE -> NOW"
  std::string Words() const;
  // "KEY: FROM is now PATH, with the same contents"
  std::string MoveWords() const;
};
// One that both know; where it lies elsewhere its times may be others.
InputChange CompareInput(const std::string& name, const nlohmann::ordered_json& before,
                         const nlohmann::ordered_json& now);
// All that `before` knows too, but for the weights file and pretrained weights: a run that has begun has its
// own.
std::vector<InputChange> CompareInputs(const nlohmann::ordered_json& before,
                                       const nlohmann::ordered_json& now);
// InputError where one of them is not what `before` says, that names all and says what to do; `run`: the
// directory of the run whose record it is.
void RequireSameInputs(const nlohmann::ordered_json& before, const nlohmann::ordered_json& now,
                       const std::filesystem::path& run);
// The same of a run that goes on with other contents of these files or folders: of what they name, what
// became of it, and `before` then knows the new sums. InputError for one that it is not made from.
std::vector<InputChange> AllowChanged(nlohmann::ordered_json& before, const nlohmann::ordered_json& now,
                                      const std::vector<std::filesystem::path>& files,
                                      const std::filesystem::path& run);

}  // namespace medley
