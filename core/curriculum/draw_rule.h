#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <medley/curriculum/mixer_state.h>

namespace medley {

// Which task the mixer draws next, and what becomes of the residuals of tasks that lose their share: all that
// its promise hangs on. The theorem and its proof: DECISIONS.md, "The mixer's promise is a theorem".

// Which of the rules that medleys have had this is. Lines of weights.jsonl have it, as a replay draws by it.
inline constexpr std::int64_t kDrawRule = 2;

// The task of the next draw in the order "deficit": its place in `tasks`, whose shares are the next draw's.
// An Error where nobody with a share is owed 0 or more: their residuals then do not add up to 0.
std::size_t NextDue(const std::vector<MixerTask>& tasks);

// Makes the residuals of the tasks with a share add up to 0 again, those of all adding up to 0, and sets
// those of the others to 0. What they are still owed is settled with the tasks that are furthest ahead, what
// they had too much with those furthest behind, one after the other and never past 0: so nobody's residual
// grows.
void Settle(std::vector<MixerTask>& tasks);

}  // namespace medley
