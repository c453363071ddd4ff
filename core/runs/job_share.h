#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <medley/config/run_config.h>

namespace medley {

// What each of several runs of one machine at a time has of budget and threads, as overrides: an N-th of what
// the config says, or else of what is free and of the cores; a thread at least. None for one run. Free memory
// of a GPU is known to nobody without tensors: of that an N-th of nine tenths, as each process keeps
// something for itself.
std::vector<std::string> ShareOfJobs(const RunConfig& config, std::int64_t jobs);
// "2 jobs: 10.6 GiB and one thread each"
std::string ShareWords(std::int64_t jobs, const std::vector<std::string>& share);

}  // namespace medley
