#include <medley/plugin/confirmed_paths.h>

#include <algorithm>
#include <string>
#include <system_error>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/next_command.h>
#include <medley/base/printable.h>
#include <medley/plugin/confirmed_lines.h>

#include "plugin_scan.h"

namespace medley {
namespace {

namespace fs = std::filesystem;

// "" where nothing is there.
fs::path RealPath(const fs::path& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  return error ? fs::path() : real;
}

bool IsConfirmed(const fs::path& real, const ConfirmedLines& confirmed) {
  return confirmed.Has(real.string()) || confirmed.Has(real.parent_path().string());
}

[[noreturn]] void Refuse(const fs::path& config, const std::vector<fs::path>& strange,
                         const ConfirmedLines& confirmed) {
  std::string places, flags;
  for (const fs::path& path : strange) {
    places += "\n  " + Printable(path.string());
    flags += " --plugin-path " + ShellWord(path.string());
  }
  throw InputError(DisplayPath(config) +
                   ": plugin_path names plugins that you have not confirmed. A plugin is code that runs with "
                   "your rights, and a config may come from anybody:" +
                   places + "\nIf you trust them, name them once (" + flags.substr(1) +
                   "), or give --allow-config-plugins" + confirmed.Remembers("them"));
}

}  // namespace

std::vector<fs::path> ConfirmPlugins(const NamedPlugins& named, const fs::path& config,
                                     const std::vector<fs::path>& of_config) {
  std::vector<fs::path> paths;
  for (const fs::path& path : named.paths) paths.push_back(fs::absolute(path));
  std::vector<fs::path> searched;  // whatever the config says
  for (const SearchPath& where : SearchPaths({.paths = paths})) searched.push_back(where.path);
  ConfirmedLines confirmed("plugin-paths");
  std::vector<fs::path> strange;
  for (const fs::path& path : of_config) {
    const fs::path real = RealPath(path);
    const bool is_named = std::ranges::any_of(searched, [&](const fs::path& other) {
      return RealPath(other) == real || RealPath(other) == real.parent_path();
    });
    if (!real.empty() && !named.allow_config && !is_named && !IsConfirmed(real, confirmed))
      strange.push_back(real);
  }
  if (!strange.empty()) Refuse(config, strange, confirmed);
  for (const fs::path& of : of_config) {
    const fs::path real = RealPath(of);  // what was confirmed, wherever a link leads by and by
    const fs::path& path = real.empty() ? of : real;
    if (std::ranges::find(paths, path) == paths.end()) paths.push_back(path);
  }
  std::vector<std::string> reals;
  for (const fs::path& path : named.allow_config ? paths : named.paths)
    reals.push_back(RealPath(path).string());
  if (named.remember) confirmed.Add(reals);
  return paths;
}

}  // namespace medley
