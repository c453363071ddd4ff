#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace medley {

// What a process says of itself before a step's first forward. All say it with as many numbers, so that also
// processes that do not agree can tell each other so.
struct RollCall {
  // Alike on all, or nothing may be exchanged.
  std::int64_t step = 0;       // that is about to be computed
  std::int64_t mixer = 0;      // a sum of its state
  std::int64_t plan = 0;       // of the forms and rows in force
  std::int64_t weights = 0;    // a sum of a piece of them
  std::int64_t exchanges = 0;  // so far: how often the others were waited for
  // Each its own.
  bool stops = false;   // it was asked to stop
  bool saves = false;   // it was asked to save
  bool guards = false;  // its next step may be its last
  bool failed = false;  // it cannot compute its part
  // Of the first process, what all do.
  double clock = 0;     // seconds, of whatever begin
  bool edited = false;  // the weights file may have changed: its text follows
  // Of the rows that it computes: for each task of the step and each of the task's terms, by their
  // names.
  std::vector<std::int64_t> items;

  bool operator==(const RollCall&) const = default;
};

// The numbers of a roll call.
inline constexpr std::size_t kRollCallWidth = 128;
// How many of the items have room among them; of more, all come behind it.
inline constexpr std::size_t kRollCallItems = kRollCallWidth - 12;

std::vector<std::int64_t> ToNumbers(const RollCall& call);
// Items that had no room are not among those that it gives back.
RollCall RollCallOf(const std::int64_t* numbers);

// Whether all are in the same place of the same run: "" or words about the first who differs from rank 0,
// as a sentence.
std::string Difference(const std::vector<RollCall>& calls);

}  // namespace medley
