#pragma once

#include <cstdint>
#include <string>

namespace medley {

inline constexpr std::int64_t kMostThreadsACore = 4;

// How many threads run at the same time here, at least 1.
std::int64_t Cores();

// What threads = 0 stands for: OMP_NUM_THREADS where the environment has it, as for all of libtorch, else one
// a core.
std::int64_t DefaultThreads();

// What to say of `threads` (RunConfig::threads) on so many cores, "" where nothing: more than
// cores only wait for each other. InputError for more than kMostThreadsACore times as many, which can
// stop the machine.
std::string ThreadsWarning(std::int64_t threads, std::int64_t cores);

}  // namespace medley
