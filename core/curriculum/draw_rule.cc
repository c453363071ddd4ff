#include <medley/curriculum/draw_rule.h>

#include <algorithm>
#include <utility>

#include <medley/base/error.h>

namespace medley {
namespace {

using Owed = MixerTask::Owed;

// The one that would first be a whole largest batch, the limit, behind: smallest (limit - owed) / share.
// Choosing the worst deficit, or the smallest worst deviation after the draw, looks simpler and starves tasks
// when batches differ. But whoever is that far behind already, which only changes make a task, comes by what
// it is owed: by the quotient tiny shares would go first, and a large one would wait for them all.
bool IsDueBefore(const MixerTask& a, const MixerTask& b, Owed limit) {
  if (a.owed >= limit || b.owed >= limit) return a.owed > b.owed;
  return (limit - a.owed) * b.share < (limit - b.owed) * a.share;
}

}  // namespace

std::size_t NextDue(const std::vector<MixerTask>& tasks) {
  std::int64_t largest = 0;
  for (const MixerTask& task : tasks) {
    if (task.share > 0) largest = std::max(largest, task.batch_charge);
  }
  const Owed limit = static_cast<Owed>(largest) << 32;
  const MixerTask* best = nullptr;
  for (const MixerTask& task : tasks) {
    if (task.share == 0 || task.owed < 0) continue;
    if (!best || IsDueBefore(task, *best, limit)) best = &task;
  }
  if (!best) throw Error("the mixer found every task ahead of its share; this is a mistake in medley");
  return static_cast<std::size_t>(best - tasks.data());
}

// Not to all by share: that puts tasks further behind, and ahead, the more often others are paused.
void Settle(std::vector<MixerTask>& tasks) {
  Owed rest = 0;
  for (MixerTask& task : tasks) {
    if (task.share == 0) rest += std::exchange(task.owed, 0);
  }
  while (rest != 0) {
    const auto furthest = std::ranges::max_element(
        tasks, [&](const auto& a, const auto& b) { return rest > 0 ? a.owed > b.owed : a.owed < b.owed; });
    const Owed given = rest > 0 ? std::min(rest, -furthest->owed) : std::max(rest, -furthest->owed);
    furthest->owed += given;
    rest -= given;
  }
}

}  // namespace medley
