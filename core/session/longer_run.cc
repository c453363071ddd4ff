#include <medley/session/longer_run.h>

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/base/json_count.h>
#include <medley/base/printable.h>
#include <medley/checkpoint/checkpoint.h>
#include <medley/step/schedule.h>
#include <medley/train/run_hours.h>

namespace medley {
namespace {

namespace fs = std::filesystem;

RunHours HoursAt(const FoundCheckpoint& found, const RunConfig& config, Console& console) {
  RunHours hours(config, console);
  hours.Load(ReadSection(found.path, "progress"));
  return hours;
}

bool HasMoreHours(const RunConfig& then, const RunConfig& now) {
  return then.hours > 0 && (now.hours == 0 || now.hours > then.hours);
}

// Behind the end of the decay that it had, where the new one does not begin before that one. What the clock
// decided holds for as many steps and hours.
bool GoesFurther(const RunHours& was, const RunConfig& then, const RunConfig& now) {
  if (now.optimizer.schedule != "wsd") return false;
  const bool by_the_clock = was.decay() != DecayOf(then.optimizer, then.steps);
  if (then.steps == now.steps && !(by_the_clock && HasMoreHours(then, now))) return false;
  const Decay planned = DecayOf(now.optimizer, now.steps);
  return planned.end() > was.decay().end() && planned.start >= was.begun().start;
}

// Nothing where it is not there; a damaged one is said.
std::optional<FoundCheckpoint> WholeOne(const std::vector<CheckpointEntry>& entries, std::int64_t step,
                                        Console& console) {
  const auto entry = std::ranges::find_if(entries, [&](const auto& each) { return each.step == step; });
  if (entry == entries.end()) return std::nullopt;
  try {
    return ReadCheckpoint(entry->path);
  } catch (const Error& error) {
    if (!IsDamage(error)) throw;
    console.Warn(Printable(entry->path) + " cannot be used: " + error.what());
    return std::nullopt;
  }
}

// Of a checkpoint; -1 where it does not cool.
struct Cooling {
  std::int64_t stage = 0, steps = -1;
};
Cooling CoolingIn(const fs::path& checkpoint) {
  const nlohmann::json progress = ReadSection(checkpoint, "progress");
  const auto stage = progress.find("stage");
  if (stage == progress.end()) return {};
  return {.stage = CountOf(*stage, "number"), .steps = CountOf(*stage, "cooled", -1)};
}

std::string Step(std::int64_t step) { return "step " + std::to_string(step); }

}  // namespace

std::optional<FoundCheckpoint> BeforeTheFall(const fs::path& run, const FoundCheckpoint& newest,
                                             const RunConfig& then, const RunConfig& now, Console& console) {
  const RunHours was = HoursAt(newest, then, console);
  const std::optional<std::int64_t> before = was.before_fall();
  const std::int64_t last = newest.facts.step;
  // The first step of a decay has the whole rate.
  if (!before || last <= *before + 1 || !GoesFurther(was, then, now)) return std::nullopt;
  const std::vector<CheckpointEntry> entries = ListCheckpoints(run);
  const std::optional<FoundCheckpoint> found = WholeOne(entries, *before, console);
  // An older medley's may already have the early decay.
  if (found && HoursAt(*found, now, console).decay().end() > was.decay().end()) {
    console.Say(
        "goes on from " + Step(*before) + ", behind which the learning rate fell, and not from " +
        Step(last) + ": steps " + std::to_string(*before + 1) + " to " + std::to_string(last) +
        " are trained anew, as in a run that had been asked for as much from the start. To go on from " +
        Step(last) + " all the same, where the rate rises again: --from " + std::to_string(last));
    return found;
  }
  const auto older = std::ranges::find_if(entries, [&](const auto& entry) { return entry.step < *before; });
  console.Say("goes on from " + Step(last) + ", and the learning rate rises again: of " + Step(*before) +
              ", behind which it fell, there is no checkpoint to go on from" +
              (older == entries.end() ? "" : "; --from " + std::to_string(older->step) + " is of before it"));
  return std::nullopt;
}

std::optional<FoundCheckpoint> BeforeTheCooldown(const fs::path& run, const FoundCheckpoint& newest) {
  const Cooling now = CoolingIn(newest.path);
  for (const CheckpointEntry& entry : ListCheckpoints(run)) {
    if (entry.step >= newest.facts.step) continue;
    try {
      const Cooling then = CoolingIn(entry.path);
      const bool is_its_stage = then.stage == now.stage || (now.steps < 0 && then.stage + 1 == now.stage);
      if (then.steps == 0 && is_its_stage) return ReadCheckpoint(entry.path);
    } catch (const std::exception&) {  // damaged, or not to be read: it is not the one
    }
  }
  return std::nullopt;
}

}  // namespace medley
