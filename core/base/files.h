#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace medley {

// The bytes of a regular file. Throws InputError for one that is missing (with a near name of its directory),
// is something else (a FIFO is never opened for reading), cannot be read or is longer than `most_bytes`.
std::string ReadFile(const std::filesystem::path& file, std::int64_t most_bytes = std::int64_t{64} << 20);

// Why this is no file (or no directory) that can be read; "" where it is one.
std::string FileProblem(const std::filesystem::path& file);
std::string DirectoryProblem(const std::filesystem::path& directory);

// The path as people call it: relative to the working directory where it lies below, absolute elsewhere;
// Printable.
std::string DisplayPath(const std::filesystem::path& path);

// As lexically_normal makes it, without the "/" behind "folder/".
std::filesystem::path NormalPath(const std::filesystem::path& path);

}  // namespace medley
