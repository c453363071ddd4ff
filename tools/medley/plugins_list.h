#pragma once

#include <filesystem>

#include <medley/plugin/registry.h>

namespace medley {

// The verbs of `medley plugins` that only read files. They return the exit code.

// Every candidate; kBadInput where one that the user named cannot be used.
int PrintPlugins(const PluginSearch& search, bool json);
// What the file says of itself and whether this medley would use it. An InputError where it has no note.
int PrintPlugin(const std::filesystem::path& path, bool json);
// Prints nothing and loads nothing, for use after linking: an InputError where this medley refuses the file.
// Where it lies is another matter, of which a line on standard error warns.
int VerifyPlugin(const std::filesystem::path& path);

}  // namespace medley
