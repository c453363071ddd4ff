#pragma once

#include <cstdint>
#include <string>

#include <medley/plugin/loaded_task.h>

namespace medley {

inline constexpr std::int64_t kComparedRows = 4096;

// The share of the task's first held-out rows that are, in every byte of their columns, also among the first
// kComparedRows of training. `seed` is the run's.
double SeenInTraining(const LoadedTask& task, std::uint64_t seed, std::int64_t held_out_rows);

// What to tell the user of a task's evaluation; "" where no row was seen, or the spec says that rows repeat.
std::string OverlapWarning(const LoadedTask& task, std::uint64_t seed, std::int64_t held_out_rows);

}  // namespace medley
