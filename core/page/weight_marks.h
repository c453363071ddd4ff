#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include <medley/curriculum/curriculum.h>

namespace medley {

// The weights in force, as a run wrote them down; nothing where it did not.
std::optional<Curriculum> CurriculumOf(const std::filesystem::path& run);

// Adds the changes of a run's weights, and with them the shares that are asked from then on; of those that a
// ramp leads to also how: see MixtureCurves. Where it goes on after `step` and so many draws, it ends where
// it will at their pace. Returns the stage that began last.
std::string AddWeightMarks(const std::filesystem::path& run, const std::optional<Curriculum>& curriculum,
                           std::int64_t step, double draws, std::vector<nlohmann::ordered_json>& marks);

}  // namespace medley
