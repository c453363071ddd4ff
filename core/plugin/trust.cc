#include "trust.h"

#include <dlfcn.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

#include <medley/base/printable.h>
#include <medley/base/version.h>
#include <medley/task/abi.h>

namespace medley {
namespace {

std::string OctalMode(mode_t mode) {
  std::string text;
  for (int shift = 9; shift >= 0; shift -= 3) text += static_cast<char>('0' + ((mode >> shift) & 7));
  return text;
}

// What of the mode lets somebody else than the owner write.
mode_t OthersWrite(const struct stat& info) {
  const mode_t writes = info.st_mode & (S_IWGRP | S_IWOTH);
  return (writes & S_IWGRP) != 0 && IsPrivateGroup(info.st_gid, info.st_uid) ? writes & ~S_IWGRP : writes;
}

// The user, root, and the owner of medley's own library for what lies beside it.
struct Owners {
  uid_t also = 0;
  bool Has(uid_t uid) const { return uid == 0 || uid == geteuid() || uid == also; }
};

// What others may write, all of it: one chmod is then enough.
class Writable {
 public:
  void Add(const std::filesystem::path& path, mode_t writes, mode_t mode) {
    said_ += (said_.empty() ? "" : ", ") + Printable(path) + " may be written by " +
             ((writes & S_IWOTH) != 0 ? "everybody" : "its group") + " (mode " + OctalMode(mode & 07777) +
             ")";
    paths_ += " " + path.string();
  }
  std::string Reason() const {
    return said_.empty() ? "" : said_ + ": plugins run with your rights. chmod go-w" + paths_;
  }

 private:
  std::string said_, paths_;
};

// Of what holds this code, which is libmedley_base: the executable may be Python's.
std::optional<uid_t> OwnerOfMedley() {
  static const std::string library = [] {  // dladdr looks through all symbols
    Dl_info found{};
    const int done = dladdr(reinterpret_cast<const void*>(&OwnPluginDirectory), &found);
    return std::string(done != 0 ? found.dli_fname : "");
  }();
  struct stat info {};
  return stat(library.c_str(), &info) == 0 ? std::optional(info.st_uid) : std::nullopt;
}

// The real path of our own directory, where it may be trusted for its owner's sake.
std::optional<std::filesystem::path> TrustedDirectory() {
  std::error_code error;
  const std::filesystem::path own = std::filesystem::canonical(OwnPluginDirectory(), error);
  struct stat info {};
  if (error || lstat(own.c_str(), &info) != 0) return std::nullopt;
  if (info.st_uid != OwnerOfMedley() || OthersWrite(info) != 0) return std::nullopt;
  return own;
}

}  // namespace

std::filesystem::path OwnPluginDirectory() { return LibraryDirectory() / "medley" / kPluginFolder; }

bool IsPrivateGroup(gid_t group, uid_t owner) {
  if (owner == 0) return false;
  constexpr std::size_t kMost = 1 << 14;  // a group that needs more has members
  std::vector<char> user_text(kMost), group_text(kMost);
  passwd user{};
  passwd* has_user = nullptr;
  struct group members {};
  struct group* has_group = nullptr;
  if (getpwuid_r(owner, &user, user_text.data(), kMost, &has_user) != 0 || has_user == nullptr) return false;
  if (getgrgid_r(group, &members, group_text.data(), kMost, &has_group) != 0 || has_group == nullptr)
    return false;
  const std::string name = user.pw_name;
  if (user.pw_gid != group || name != members.gr_name) return false;
  char** end = members.gr_mem;
  while (*end != nullptr) ++end;
  return std::all_of(members.gr_mem, end, [&](const char* member) { return name == member; });
}

std::string WhyUnsafe(const std::filesystem::path& path) {
  const std::optional<std::filesystem::path> own = TrustedDirectory();
  if (path == own) return "";
  const bool inside = path.parent_path() == own;
  const Owners owners{inside ? OwnerOfMedley().value_or(0) : 0};

  std::vector<std::filesystem::path> components;
  for (std::filesystem::path part = path; part != part.root_path(); part = part.parent_path()) {
    components.push_back(part);
    if (inside) break;
  }
  if (!inside) components.push_back(path.root_path());
  Writable writable;
  uid_t child = 0;
  for (const std::filesystem::path& component : components) {  // from the leaf to the root
    struct stat info {};
    if (lstat(component.c_str(), &info) != 0) return Printable(component) + ": " + std::strerror(errno);
    if (!owners.Has(info.st_uid)) {
      return Printable(component) + " belongs to user " + std::to_string(info.st_uid) +
             ", neither root nor you: plugins run with your rights. chown it, or copy the plugin elsewhere";
    }
    const bool sticky = S_ISDIR(info.st_mode) && (info.st_mode & S_ISVTX) != 0 && component != path;
    const mode_t writes = sticky && owners.Has(child) ? 0 : OthersWrite(info);
    if (writes != 0) writable.Add(component, writes, info.st_mode);
    child = info.st_uid;
  }
  return writable.Reason();
}

}  // namespace medley
