#pragma once

#include <cstdint>
#include <filesystem>

#include <medley/checkpoint/checkpoint_facts.h>
#include <medley/report/console.h>

namespace medley {

// A run that goes on from an older checkpoint than its newest.

// The checkpoint of this step, verified, whatever the others are like. An InputError where there is none of
// it, with those that are there, or where it is damaged.
FoundCheckpoint CheckpointOf(const std::filesystem::path& run, std::int64_t step);

// Checkpoints of later steps get a name that no resume reads, newer-step-..., the newest last: where that is
// interrupted the run goes on from its newest one as before, or from this one. Says so. Only under the run's
// lock.
void SetNewerAside(const std::filesystem::path& run, const FoundCheckpoint& from, Console& console);

}  // namespace medley
