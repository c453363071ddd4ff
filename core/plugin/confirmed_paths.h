#pragma once

#include <filesystem>
#include <vector>

namespace medley {

// Plugins, and directories of them, that the user named on a command line.
struct NamedPlugins {
  std::vector<std::filesystem::path> paths{};
  bool allow_config = false;  // those that the config names too
  bool remember = true;       // what is named here counts in configs from now on
};

// The paths where a run searches first: what was named, then what the config names. An InputError where the
// config names what this user did not confirm, by its real path or that of its directory
// ($XDG_STATE_HOME/medley/plugin-paths): a run directory or config from somebody else must not bring code.
// What is searched anyway needs no word. What does not exist brings no code, and is reported by who searches.
std::vector<std::filesystem::path> ConfirmPlugins(const NamedPlugins& named,
                                                  const std::filesystem::path& config,
                                                  const std::vector<std::filesystem::path>& of_config);

}  // namespace medley
