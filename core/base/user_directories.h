#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace medley {

// A variable of the environment; none where it is not set or empty, and none at all for a program that has
// other rights than who started it (AT_SECURE).
std::optional<std::string> Environment(const char* name);

// The directory in which medley keeps what is a user's, by the XDG Base Directory Specification:
// $XDG_DATA_HOME/medley, or ~/.local/share/medley where that is not set. None without a home. Nothing is
// created.
enum class UserFiles { kData, kCache, kState };
std::optional<std::filesystem::path> UserDirectory(UserFiles kind);

}  // namespace medley
