#pragma once

#include <cstdint>
#include <filesystem>

namespace medley {

// The main memory that this process may use: the machine's, or its control group's or address space's (ulimit
// -v) where that has less.
struct HostMemory {
  std::int64_t total = 0;
  std::int64_t available = 0;  // what is free or only caches files
};

// Reads /proc/meminfo, the control groups, versions 1 and 2, with their parents, and the process's limits.
// `root` is where these files are looked for (tests). An Error where the machine does not say how much it
// has.
HostMemory ReadHostMemory(const std::filesystem::path& root = "/");

// Of what is free, the bytes that stay free where nobody named a budget: what a program has beside tensors,
// and gaps between blocks.
std::int64_t KeptBackOnHost(std::int64_t free, std::int64_t total);

}  // namespace medley
