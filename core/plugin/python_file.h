#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <medley/plugin/registry.h>

namespace medley {

// A plugin that is a file of Python. Read, and nothing of it run: its specs are literals (python_source.h).
//
// Its build id is the SHA-256 of the file, or where it imports modules that lie beside it, of the sums of all
// of them; its note the literals of its specs as JSON, which the classes are held against when it is loaded.

// Throws Rejection: with `claims` false for what is no plugin, a module that imports no medley or has no
// spec.
PluginFile ReadPythonFile(const std::filesystem::path& path);

// Texts by path.
using PythonModules = std::map<std::filesystem::path, std::string>;
struct PythonSources {
  std::string text;
  PythonModules modules;  // beside it, that it imports
};
// The texts, if they are still those that were read; an Error where not.
PythonSources SourcesOf(const PluginFile& file);

// The modules beside a file that it imports, and that these import, each once, in order. Of a package all of
// its modules.
std::vector<std::filesystem::path> ModulesBeside(const std::filesystem::path& file);

bool IsPythonFile(const std::filesystem::path& path);

}  // namespace medley
