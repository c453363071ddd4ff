#include <medley/plugin/confirmed_paths.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <sstream>
#include <system_error>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/next_command.h>
#include <medley/base/printable.h>
#include <medley/base/user_directories.h>

#include "plugin_scan.h"
#include "trust.h"

namespace medley {
namespace {

namespace fs = std::filesystem;

// "" where nothing is there.
fs::path RealPath(const fs::path& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  return error ? fs::path() : real;
}

bool IsOneLine(const fs::path& path) { return path.string().find('\n') == std::string::npos; }

std::string Remembers(const ConfirmedPaths& confirmed) {
  if (confirmed.file().empty()) return "";
  if (confirmed.why_ignored().empty()) return "; " + DisplayPath(confirmed.file()) + " then remembers them";
  return ". " + DisplayPath(confirmed.file()) +
         ", which remembers them, is not read: " + Printable(confirmed.why_ignored());
}

// With its parents. Nobody else's, whatever the umask: what they could write to would confirm nothing.
void MakePrivateDirectory(const fs::path& path) {
  if (fs::exists(path)) return;
  if (path.has_parent_path()) MakePrivateDirectory(path.parent_path());
  if (fs::create_directory(path)) fs::permissions(path, fs::perms::owner_all);
}

[[noreturn]] void Refuse(const fs::path& config, const std::vector<fs::path>& strange,
                         const ConfirmedPaths& confirmed) {
  std::string places, flags;
  for (const fs::path& path : strange) {
    places += "\n  " + Printable(path.string());
    flags += " --plugin-path " + ShellWord(path.string());
  }
  throw InputError(DisplayPath(config) +
                   ": plugin_path names plugins that you have not confirmed. A plugin is code that runs with "
                   "your rights, and a config may come from anybody:" +
                   places + "\nIf you trust them, name them once (" + flags.substr(1) +
                   "), or give --allow-config-plugins" + Remembers(confirmed));
}

}  // namespace

ConfirmedPaths::ConfirmedPaths() {
  const std::optional<fs::path> state = UserDirectory(UserFiles::kState);
  if (!state) return;
  file_ = *state / "plugin-paths";
  const fs::path real = RealPath(file_);
  if (real.empty()) return;
  why_ignored_ = WhyUnsafe(real);
  if (!why_ignored_.empty()) return;
  try {
    constexpr std::int64_t kMostBytes = 1 << 20;
    std::istringstream text(ReadSmallFile(real, kMostBytes));
    for (std::string line; std::getline(text, line);) {
      if (fs::path(line).is_absolute()) known_.insert(line);
    }
  } catch (const Error& error) {  // as if nothing had been confirmed: it is asked for again
    known_.clear();
    why_ignored_ = error.what();
  }
}

bool ConfirmedPaths::Has(const fs::path& path) const {
  const fs::path real = RealPath(path);
  return known_.count(real) > 0 || known_.count(real.parent_path()) > 0;
}

void ConfirmedPaths::Add(const std::vector<fs::path>& paths) {
  const std::size_t before = known_.size();
  for (const fs::path& path : paths) {
    const fs::path real = RealPath(path);
    if (!real.empty() && IsOneLine(real)) known_.insert(real);
  }
  if (known_.size() == before || file_.empty() || !why_ignored_.empty()) return;
  std::string text;
  for (const fs::path& path : known_) text += path.string() + "\n";
  try {
    MakePrivateDirectory(file_.parent_path());
    ReplaceFile(file_, text);
    fs::permissions(file_, fs::perms::owner_read | fs::perms::owner_write);
  } catch (const Error&) {
  } catch (const fs::filesystem_error&) {
  }
}

std::vector<fs::path> ConfirmPlugins(const NamedPlugins& named, const fs::path& config,
                                     const std::vector<fs::path>& of_config) {
  std::vector<fs::path> paths;
  for (const fs::path& path : named.paths) paths.push_back(fs::absolute(path));
  std::vector<fs::path> searched;  // whatever the config says
  for (const SearchPath& where : SearchPaths({.paths = paths})) searched.push_back(where.path);
  ConfirmedPaths confirmed;
  std::vector<fs::path> strange;
  for (const fs::path& path : of_config) {
    const fs::path real = RealPath(path);
    const bool is_named = std::ranges::any_of(searched, [&](const fs::path& other) {
      return RealPath(other) == real || RealPath(other) == real.parent_path();
    });
    if (!real.empty() && !named.allow_config && !is_named && !confirmed.Has(real)) strange.push_back(real);
  }
  if (!strange.empty()) Refuse(config, strange, confirmed);
  for (const fs::path& of : of_config) {
    const fs::path real = RealPath(of);  // what was confirmed, wherever a link leads by and by
    const fs::path& path = real.empty() ? of : real;
    if (std::ranges::find(paths, path) == paths.end()) paths.push_back(path);
  }
  if (named.remember) confirmed.Add(named.allow_config ? paths : named.paths);
  return paths;
}

}  // namespace medley
