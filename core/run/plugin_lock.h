#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <medley/model/model_info.h>
#include <medley/plugin/registry.h>

namespace medley {

// The files that bring these tasks and the model, each once; names that nobody brings are passed over.
// `model` null: none.
std::vector<const PluginFile*> PluginsInUse(const std::vector<std::string>& tasks, const ModelInfo* model,
                                            const Registry& registry);

// Name, versions and SHA-256 of each, sorted by name: a lock file.
nlohmann::ordered_json LockOf(const std::vector<const PluginFile*>& files);

// An InputError with every file that differs from the lock or is not in it: file, expected, found; and for a
// lock that cannot be read. Paths are not compared: the same bytes are the same plugin anywhere.
void RequireLocked(const std::filesystem::path& lock, const std::vector<const PluginFile*>& files);

}  // namespace medley
