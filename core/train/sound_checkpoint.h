#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace medley {

// A loss or a gradient of the step behind `step` is not finite, and neither hangs on the learning rate: from
// this step on a run fails again. The newest whole checkpoint before it to go on from, one whose weights
// still learned: a step was trained from it, so that its gradient was finite, and of no task are the next
// three losses all above half of the first one and twice as high as three in a row were before. Nothing where
// there is none. Reads metrics.jsonl, and the checkpoint.
std::optional<std::int64_t> SoundCheckpoint(const std::filesystem::path& run, std::int64_t step);

}  // namespace medley
