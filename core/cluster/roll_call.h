#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace medley {

// What a process says of itself before a step's first forward, with as many numbers whatever it says: also
// processes that do not agree can tell each other so.
struct RollCall {
  static constexpr std::size_t kItems = 119;
  // Flags:
  static constexpr std::int64_t kStops = 1;       // it was asked to stop
  static constexpr std::int64_t kSaves = 2;       // it was asked to save
  static constexpr std::int64_t kGuards = 4;      // its next step may be its last
  static constexpr std::int64_t kFailed = 8;      // it cannot compute its part
  static constexpr std::int64_t kEdited = 16;     // the first: the weights file may have changed: its text
  static constexpr std::int64_t kNoWeights = 32;  // follows; or why it cannot be read

  // Alike on all, or nothing may be exchanged. The build comes first: another one may know of no more.
  std::int64_t build = 0;
  std::int64_t step = 0;       // that is about to be computed
  std::int64_t exchanges = 0;  // so far: how often the others were waited for
  std::int64_t mixer = 0;      // a sum of its state
  std::int64_t plan = 0;       // of the forms and rows in force
  std::int64_t weights = 0;    // a sum of a piece of them
  // Each its own.
  std::int64_t flags = 0;
  double clock = 0;  // of the first, what all do: seconds, of whatever begin
  // Of the rows that it computes: for each task of the step and each of the task's terms, by their names. Of
  // more than have room, all come behind it.
  std::int64_t item_count = 0;
  std::array<std::int64_t, kItems> items{};

  bool operator==(const RollCall&) const = default;

  auto Fields() {
    return std::tie(build, step, exchanges, mixer, plan, weights, flags, clock, item_count, items);
  }
};

// Of medley, its revision and its libtorch: the `build` of a roll call.
std::int64_t BuildNumber();

// Whether all are in the same place of the same run: "" or words about the first who differs from rank 0,
// as a sentence.
std::string Difference(const std::vector<RollCall>& calls);

}  // namespace medley
