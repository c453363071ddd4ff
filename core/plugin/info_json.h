#pragma once

#include <nlohmann/json.hpp>

#include <medley/plugin/registry.h>

namespace medley {

// A task as `medley tasks --json` shows it: passes and terms at top level are the default variant's, the
// others stand under "variants".
nlohmann::ordered_json TaskToJson(const TaskInfo& task, const PluginFile& file);

// A model for tools: its spec, and the plugin that brings it (null: medley itself).
nlohmann::ordered_json ModelToJson(const ModelInfo& model, const Registry& registry);

}  // namespace medley
