#pragma once

#include <filesystem>
#include <optional>

#include <medley/checkpoint/checkpoint_facts.h>
#include <medley/config/run_config.h>
#include <medley/report/console.h>

namespace medley {

// A run that goes on beyond the end of its decay, or of a part of it, because it has more steps or more hours
// now: from its newest checkpoint its learning rate would jump. Returns the checkpoint behind which it began
// to fall, and says so: from there the run is the one that was asked for as much from the start. Nothing
// where none is there or whole, which is said too, or where the run does not go further. `then`, `now`: what
// it was trained with, and is to go on with. Changes nothing.
std::optional<FoundCheckpoint> BeforeTheFall(const std::filesystem::path& run, const FoundCheckpoint& newest,
                                             const RunConfig& then, const RunConfig& now, Console& console);

// The same of a run whose last stage cools or has cooled: the checkpoint behind which it began to. Nothing
// where there is none.
std::optional<FoundCheckpoint> BeforeTheCooldown(const std::filesystem::path& run,
                                                 const FoundCheckpoint& newest);

}  // namespace medley
