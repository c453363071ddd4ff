#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

namespace medley {

// <libdir>/medley and kPluginFolder, beside libmedley_base.so, whether it exists or not.
std::filesystem::path OwnPluginDirectory();

// Whether the owner is alone in a group: it is the user's first, has the user's name, and no other members.
// Systems that make one for each user set umask 002, and who writes by it is the owner. Never root's.
bool IsPrivateGroup(gid_t group, uid_t owner);

// Why strangers could put code at a real path, or could have; "" where they could not. A plugin runs with the
// user's rights, so every component must belong to root or the user, and nobody else may write to it. A
// sticky directory such as /tmp is accepted above a component of the user's own, which strangers cannot
// replace.
//
// The directory beside libmedley is as good as that library where it has the same owner: what lies above it
// is not looked at, because who could replace it could replace the library.
std::string WhyUnsafe(const std::filesystem::path& path);

}  // namespace medley
