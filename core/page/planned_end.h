#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

namespace medley {

// The step that a run with this resolved config ends with, as known by now: with `hours` it may end before
// its steps. Null where neither says. An InputError where the log of its weights is damaged.
nlohmann::json PlannedEnd(const std::filesystem::path& run, const nlohmann::json& config);

}  // namespace medley
