#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <medley/plugin/registry.h>
#include <medley/plugin/spec_reader.h>

namespace medley {

// A file that a search came upon, or a directory that it could not read.
struct PluginCandidate {
  std::filesystem::path path;
  std::string state;   // ok, shadowed, same file, name twice, or RejectedPlugin's: not a plugin, bad abi, ...
  std::string reason;  // "" where all of it is used
  bool named = false;  // by the user, who must be told that it cannot be used
  std::vector<std::string> tasks, models;
};

struct PluginList {
  std::vector<std::filesystem::path> searched;
  std::vector<PluginCandidate> candidates;  // in the order of the search
};

// Every candidate, whatever is wrong with it or with others. Loads nothing.
PluginList ListPlugins(const PluginSearch& search);

// What a plugin says of itself, also where this medley would not use it.
struct PluginAccount {
  PluginFile file;
  AbiInfo abi;
  std::string state;   // ok, or RejectedPlugin's
  std::string reason;  // "" where ok
};

// An InputError where the file has no note that can be read.
PluginAccount ReadPluginAccount(const std::filesystem::path& path);

}  // namespace medley
