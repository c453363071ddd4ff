#pragma once

#include <filesystem>
#include <vector>

#include <medley/plugin/registry.h>

namespace medley {

// What one directory (or one file) of the search holds, in alphabetical order.
struct ScannedDirectory {
  std::vector<PluginFile> files;
  std::vector<RejectedPlugin> rejected;
};

// The directories of a search in their order, not all of which exist. An InputError where a path of the
// user's or of MEDLEY_PLUGIN_PATH is relative: what it means would depend on where the command is started.
// Empty parts of that variable are passed over.
struct SearchPath {
  std::filesystem::path path;
  bool expected = false;  // the user named it: that it does not exist is worth a line
};
std::vector<SearchPath> SearchPaths(const PluginSearch& search);

// Reads every *.so and *.py of a directory, not below it. One bad file never hides another.
ScannedDirectory ScanPlugins(const SearchPath& where);

}  // namespace medley
