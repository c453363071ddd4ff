#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>

#include <medley/checkpoint/checkpoint_facts.h>
#include <medley/report/console.h>

namespace medley {

// kSetAside only under the run's lock; without it one that the run itself removed meanwhile is passed over.
enum class OnDamage { kSetAside, kSkip };

// The newest whole checkpoint; each damaged one is printed with its path and reason, and set aside only once
// a whole one was found. Nothing where the run never had one. An InputError where all are damaged, be it now
// or when they were set aside, or gone: the run must not begin anew by itself. kSetAside also sees to it that
// LATEST names it. Trouble of the machine (a read error, no descriptor or memory left) says nothing about a
// checkpoint and is thrown on, and so is that a newer medley wrote it.
std::optional<FoundCheckpoint> FindCheckpoint(const std::filesystem::path& run, OnDamage on_damage,
                                              Console& console);

// Of the checkpoints whose evaluation was over the same tasks in the same stage as the newest one's that has
// one, that with the lowest mean loss; nothing where none has any. Reads manifests alone.
std::optional<CheckpointEntry> BestCheckpoint(const std::filesystem::path& run);

// Removes committed checkpoints: all but the newest `keep`, those of these steps, those that are marked to
// be kept and the best one. Reads manifests, and throws what that throws, only where there are more than
// `keep`.
void RotateCheckpoints(const std::filesystem::path& run, std::int64_t keep, std::set<std::int64_t> kept = {});

}  // namespace medley
