#include <medley/plugin/confirmed_lines.h>

#include <cstdint>
#include <optional>
#include <sstream>
#include <system_error>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/printable.h>
#include <medley/base/user_directories.h>

#include "trust.h"

namespace medley {
namespace {

namespace fs = std::filesystem;

// With its parents. Nobody else's, whatever the umask: what they could write to would confirm nothing.
void MakePrivateDirectory(const fs::path& path) {
  if (fs::exists(path)) return;
  if (path.has_parent_path()) MakePrivateDirectory(path.parent_path());
  if (fs::create_directory(path)) fs::permissions(path, fs::perms::owner_all);
}

}  // namespace

ConfirmedLines::ConfirmedLines(const std::string& name) {
  const std::optional<fs::path> state = UserDirectory(UserFiles::kState);
  if (!state) return;
  file_ = *state / name;
  std::error_code gone;
  const fs::path real = fs::canonical(file_, gone);
  if (gone) return;
  why_ignored_ = WhyUnsafe(real);
  if (!why_ignored_.empty()) return;
  try {
    constexpr std::int64_t kMostBytes = 1 << 20;
    std::istringstream text(ReadSmallFile(real, kMostBytes));
    for (std::string line; std::getline(text, line);) {
      if (!line.empty()) known_.insert(line);
    }
  } catch (const Error& error) {  // as if nothing had been confirmed: it is asked for again
    known_.clear();
    why_ignored_ = error.what();
  }
}

void ConfirmedLines::Add(const std::vector<std::string>& lines) {
  const std::size_t before = known_.size();
  for (const std::string& line : lines) {
    if (!line.empty() && line.find('\n') == std::string::npos) known_.insert(line);
  }
  if (known_.size() == before || file_.empty() || !why_ignored_.empty()) return;
  std::string text;
  for (const std::string& line : known_) text += line + "\n";
  try {
    MakePrivateDirectory(file_.parent_path());
    ReplaceFile(file_, text);
    fs::permissions(file_, fs::perms::owner_read | fs::perms::owner_write);
  } catch (const Error&) {
  } catch (const fs::filesystem_error&) {
  }
}

std::string ConfirmedLines::Remembers(const std::string& them) const {
  if (file_.empty()) return "";
  if (why_ignored_.empty()) return "; " + DisplayPath(file_) + " then remembers " + them;
  return ". " + DisplayPath(file_) + ", which remembers " + them +
         ", is not read: " + Printable(why_ignored_);
}

}  // namespace medley
