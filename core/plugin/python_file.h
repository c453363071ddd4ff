#pragma once

#include <filesystem>
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

// The file's text, if it is still the one that was read; an Error where not.
std::string SourceOf(const PluginFile& file);

// The modules beside a file that it imports, and that these import, each once, in order. Of a package all of
// its modules. Real paths.
std::vector<std::filesystem::path> ModulesBeside(const std::filesystem::path& file);

bool IsPythonFile(const std::filesystem::path& path);

}  // namespace medley
