#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <medley/plugin/registry.h>

namespace medley {

// What a shared object says of itself in its program headers.
struct ElfFile {
  FileIdentity identity;
  std::string note;                 // of medley's note, as it stands in the file
  std::string build_id;             // hex; "" where there is none
  std::vector<std::string> needed;  // DT_NEEDED
  std::string run_path;             // DT_RUNPATH, or DT_RPATH; "": none
};

// Reads a plugin file without loading it. Bounded in time and memory whatever the file holds; never maps it,
// because a mapped file that shrinks is a SIGBUS. Throws Rejection.
ElfFile ReadElfFile(const std::filesystem::path& path);

// What a shared object that need not be a plugin loads, and where it says to look: nothing of a file that
// cannot be read.
ElfFile ReadNeeds(const std::filesystem::path& path);

// The build id of a shared object that need not be a plugin: hex, "" where there is none to be read.
std::string ReadBuildId(const std::filesystem::path& path);

}  // namespace medley
