#include <medley/checkpoint/go_back.h>

#include <algorithm>
#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/base/printable.h>
#include <medley/base/suggest.h>

namespace medley {

namespace fs = std::filesystem;

FoundCheckpoint CheckpointOf(const fs::path& run, std::int64_t step) {
  std::vector<std::string> steps;
  for (const CheckpointEntry& entry : ListCheckpoints(run)) {
    steps.insert(steps.begin(), std::to_string(entry.step));
    if (entry.step != step) continue;
    try {
      return ReadCheckpoint(entry.path);
    } catch (const Error& error) {
      if (!IsDamage(error)) throw;
      throw InputError("the checkpoint of step " + std::to_string(step) + " cannot be used: " + error.what());
    }
  }
  throw InputError(Printable(run) + " has no checkpoint of step " + std::to_string(step) +
                   "; it has those of " + Listed(steps));
}

void SetNewerAside(const fs::path& run, const FoundCheckpoint& from, Console& console) {
  std::vector<CheckpointEntry> entries = ListCheckpoints(run);
  std::ranges::reverse(entries);
  for (const CheckpointEntry& entry : entries) {
    if (entry.step <= from.facts.step) continue;
    const std::string name = entry.path.filename().string();
    console.Say(
        name + " is of a later step; it is now " +
        RenameCheckpoint(run, entry, std::string(kNewerPrefix) + name).filename().string() +
        ", which no resume reads, and medley export and init_from do: remove it when you do not need it");
  }
  try {
    NameLatest(run, from.path);
  } catch (const Error& error) {
    console.Warn(std::string("LATEST names another checkpoint: ") + error.what());
  }
}

}  // namespace medley
