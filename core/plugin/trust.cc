#include "trust.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

#include <medley/base/version.h>
#include <medley/task/abi.h>

namespace medley {
namespace {

constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;

std::string Mode(mode_t mode) {
  std::string text;
  for (int shift = 9; shift >= 0; shift -= 3) text += static_cast<char>('0' + ((mode >> shift) & 7));
  return text;
}

// The user, root, and the owner of the executable for what lies beside it.
struct Owners {
  std::optional<uid_t> also;
  bool Has(uid_t uid) const { return uid == 0 || uid == geteuid() || uid == also; }
};

std::string Judge(const std::filesystem::path& path, const struct stat& info, const Owners& owners) {
  if (!owners.Has(info.st_uid)) {
    return path.string() + " belongs to user " + std::to_string(info.st_uid) +
           ", neither root nor you: plugins run with your rights. chown it, or copy the plugin elsewhere";
  }
  if ((info.st_mode & kOthersWrite) != 0) {
    return path.string() + " may be written by " +
           ((info.st_mode & S_IWOTH) != 0 ? "everybody" : "its group") + " (mode " +
           Mode(info.st_mode & 07777) + "): plugins run with your rights. chmod go-w it";
  }
  return "";
}

std::optional<uid_t> ExecutableOwner() {
  struct stat info {};
  if (stat("/proc/self/exe", &info) != 0) return std::nullopt;
  return info.st_uid;
}

// The real path of our own directory, where it may be trusted for its owner's sake.
std::optional<std::filesystem::path> TrustedDirectory() {
  std::error_code error;
  const std::filesystem::path own = std::filesystem::canonical(OwnPluginDirectory(), error);
  struct stat info {};
  if (error || lstat(own.c_str(), &info) != 0) return std::nullopt;
  if (info.st_uid != ExecutableOwner() || (info.st_mode & kOthersWrite) != 0) return std::nullopt;
  return own;
}

}  // namespace

std::filesystem::path OwnPluginDirectory() { return LibraryDirectory() / "medley" / kPluginFolder; }

std::string WhyUnsafe(const std::filesystem::path& path) {
  const std::optional<std::filesystem::path> own = TrustedDirectory();
  if (path == own) return "";
  const bool inside = path.parent_path() == own;
  const Owners owners{inside ? ExecutableOwner() : std::nullopt};

  std::vector<std::filesystem::path> components;
  for (std::filesystem::path part = path; part != part.root_path(); part = part.parent_path()) {
    components.push_back(part);
    if (inside) break;
  }
  if (!inside) components.push_back(path.root_path());
  uid_t child = 0;
  for (const std::filesystem::path& component : components) {  // from the leaf to the root
    struct stat info {};
    if (lstat(component.c_str(), &info) != 0) return component.string() + ": " + std::strerror(errno);
    const bool sticky = S_ISDIR(info.st_mode) && (info.st_mode & S_ISVTX) != 0 && component != path;
    if (sticky && owners.Has(child)) info.st_mode &= ~kOthersWrite;
    if (std::string reason = Judge(component, info, owners); !reason.empty()) return reason;
    child = info.st_uid;
  }
  return "";
}

}  // namespace medley
