#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

namespace medley {

// Lets the newest config of a run name the weights file that the run began with: a resume trains by the run's
// own copy, and runs that began alike would seem to differ. Where that is not known it stays as it is.
void NameFirstWeights(const std::filesystem::path& run, nlohmann::ordered_json& config);

}  // namespace medley
