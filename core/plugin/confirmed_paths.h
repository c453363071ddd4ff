#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace medley {

// Plugins, and directories of them, that the user named on a command line.
struct NamedPlugins {
  std::vector<std::filesystem::path> paths{};
  bool allow_config = false;  // those that the config names too
  bool remember = true;       // what is named here counts in configs from now on
};

// The real paths from which a config may bring code, because this user confirmed them once: one a line in
// $XDG_STATE_HOME/medley/plugin-paths. Without a home, or where strangers could have written the file, none.
class ConfirmedPaths {
 public:
  ConfirmedPaths();

  // The path, or its directory.
  bool Has(const std::filesystem::path& path) const;
  // Replaces the file where one of them is new, but not one that is ignored. What cannot be written down is
  // asked for again the next time.
  void Add(const std::vector<std::filesystem::path>& paths);
  const std::filesystem::path& file() const { return file_; }
  const std::string& why_ignored() const { return why_ignored_; }  // "": the file is read

 private:
  std::filesystem::path file_;  // "": there is no home
  std::string why_ignored_;
  std::set<std::filesystem::path> known_;
};

// The paths where a run searches first: what was named, then what the config names. An InputError where the
// config names what nobody confirmed: a run directory or config from somebody else must not bring code. What
// is searched anyway needs no word. What does not exist brings no code, and is reported by who searches.
std::vector<std::filesystem::path> ConfirmPlugins(const NamedPlugins& named,
                                                  const std::filesystem::path& config,
                                                  const std::vector<std::filesystem::path>& of_config);

}  // namespace medley
