#pragma once

#include <nlohmann/json.hpp>

#include <medley/plugin/registry.h>

namespace medley {

// A model for tools: its spec, and the plugin that brings it (null: medley itself).
nlohmann::ordered_json ModelToJson(const ModelInfo& model, const Registry& registry);

}  // namespace medley
