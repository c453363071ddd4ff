#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include <medley/config/field.h>
#include <medley/runs/run_pace.h>

#include "tools/medley/sweep_request.h"

namespace medley {

// How far a run of a sweep is. kHeld: another process trains it, as one does that a sweep left behind which
// was killed. kTrained: it is over, and has no scores of its end.
enum class ItemState { kNew, kBegun, kHeld, kTraining, kTrained, kScoring, kDone, kFailed, kStopped };
template <>
struct EnumNames<ItemState> {
  static constexpr std::array<std::string_view, 9> kNames = {
      "new", "begun", "held", "training", "trained", "scoring", "done", "failed", "stopped"};
};

struct SweepItem {
  SweepRun run;
  std::filesystem::path path = {};
  GroupFacts facts = {};
  ItemState state = ItemState::kNew;
  RunPace pace = {};       // when it was looked at last
  std::string why = {};    // it failed
  bool lost_some = false;  // it is over, and dropped something or could not be scored
  bool measures = false;   // without another's profile
};

// What the files of a run tell of it, and nothing of what this process does.
ItemState StateOnDisk(const std::filesystem::path& run);
std::vector<SweepItem> ItemsOf(const CheckedSweep& sweep, const std::filesystem::path& directory);

// What goes on with a run, or scores it. `profile`: of another run with its plan; "": none.
std::vector<std::string> CommandOf(const SweepItem& item, const SweepRequest& request,
                                   const SweepRecord& record, const std::filesystem::path& profile);

// Seconds that are left with so many jobs, by the usual time of a step of those that have begun; NaN: nobody
// knows.
double SecondsLeft(const std::vector<SweepItem>& items, std::int64_t jobs);

nlohmann::ordered_json ItemsJson(const std::vector<SweepItem>& items, const SweepRecord& record);

}  // namespace medley
