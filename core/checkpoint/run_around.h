#pragma once

#include <filesystem>
#include <optional>

namespace medley {

// The nearest run's directory that the place lies in, or is: one with a resolved config, or with a run's
// record (a run.json of people's own is a config). `place` is absolute and need not be there.
std::optional<std::filesystem::path> RunAround(const std::filesystem::path& place);

}  // namespace medley
