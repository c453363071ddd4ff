#pragma once

#include <filesystem>
#include <vector>

namespace medley {

// The libraries that a shared object loads, and that these load, where they lie where it says from its own
// place ($ORIGIN in its run path); in order, without links. Others the system finds; medley's own and
// libtorch's are left out. None of a file that cannot be read. Of a plugin in Python, the modules beside it
// that it imports.
std::vector<std::filesystem::path> LibrariesBeside(const std::filesystem::path& file);

}  // namespace medley
