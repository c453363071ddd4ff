#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <medley/plugin/confirmed_paths.h>
#include <medley/plugin/registry.h>
#include <medley/run/run.h>

namespace medley {

// What only a run config can give.
struct NeedsConfig {
  std::string why;
};

// A model's file in `scratch`: the defaults of its kind.
std::filesystem::path ModelOfKind(const std::filesystem::path& scratch, const std::string& kind);

// A weights file in `scratch`, as an override: this task alone.
std::string WeightsOfTask(const std::filesystem::path& scratch, const std::string& task);

// Of a run of this task alone where nobody names a config: configs/runs/plugin.json with the plugin's own
// model, the small agent, or any other, the first that the task fits. Throws NeedsConfig.
RunInputs InputsOfTask(const std::string& task, const Registry& registry,
                       const std::filesystem::path& scratch, const NamedPlugins& plugins,
                       std::vector<std::string> overrides);

}  // namespace medley
