#include <medley/cluster/roll_call.h>

#include <algorithm>
#include <bit>

namespace medley {
namespace {

constexpr std::int64_t kStops = 1, kSaves = 2, kGuards = 4, kFailed = 8, kEdited = 16;

std::int64_t FlagsOf(const RollCall& call) {
  return (call.stops ? kStops : 0) | (call.saves ? kSaves : 0) | (call.guards ? kGuards : 0) |
         (call.failed ? kFailed : 0) | (call.edited ? kEdited : 0);
}

}  // namespace

std::vector<std::int64_t> ToNumbers(const RollCall& call) {
  std::vector<std::int64_t> numbers = {call.step,
                                       call.mixer,
                                       call.plan,
                                       call.weights,
                                       call.exchanges,
                                       FlagsOf(call),
                                       std::bit_cast<std::int64_t>(call.clock),
                                       static_cast<std::int64_t>(call.items.size())};
  numbers.resize(kRollCallWidth - kRollCallItems);
  numbers.insert(
      numbers.end(), call.items.begin(),
      call.items.begin() + static_cast<std::ptrdiff_t>(std::min(call.items.size(), kRollCallItems)));
  numbers.resize(kRollCallWidth);
  return numbers;
}

RollCall RollCallOf(const std::int64_t* numbers) {
  const std::int64_t flags = numbers[5];
  RollCall call{.step = numbers[0],
                .mixer = numbers[1],
                .plan = numbers[2],
                .weights = numbers[3],
                .exchanges = numbers[4],
                .stops = (flags & kStops) != 0,
                .saves = (flags & kSaves) != 0,
                .guards = (flags & kGuards) != 0,
                .failed = (flags & kFailed) != 0,
                .clock = std::bit_cast<double>(numbers[6]),
                .edited = (flags & kEdited) != 0,
                .items = {}};
  const auto items = static_cast<std::size_t>(std::clamp<std::int64_t>(numbers[7], 0, kRollCallItems));
  const std::int64_t* first = numbers + (kRollCallWidth - kRollCallItems);
  call.items.assign(first, first + items);
  return call;
}

std::string Difference(const std::vector<RollCall>& calls) {
  struct Part {
    std::int64_t RollCall::*number;
    const char* words;
  };
  constexpr Part kParts[] = {
      {&RollCall::step, "is at another step"},
      {&RollCall::exchanges, "has waited for the others another number of times"},
      {&RollCall::mixer, "draws from another mixture, or has drawn other rows"},
      {&RollCall::plan, "runs its tasks by another plan"},
      {&RollCall::weights, "has other parameters after the last step"},
  };
  const RollCall& first = calls.front();
  const auto counts = [](const RollCall& call) { return call.failed ? 0 : call.items.size(); };
  const RollCall& counted = *std::max_element(
      calls.begin(), calls.end(), [&](const auto& a, const auto& b) { return counts(a) < counts(b); });
  for (std::size_t rank = 1; rank < calls.size(); ++rank) {
    for (const Part& part : kParts) {
      const std::int64_t here = calls[rank].*part.number, there = first.*part.number;
      if (here == there) continue;
      std::string words = "rank " + std::to_string(rank) + " " + part.words + " than rank 0";
      if (part.number == &RollCall::step)
        words += " (" + std::to_string(here) + ", not " + std::to_string(there) + ")";
      return words;
    }
    if (!calls[rank].failed && counts(calls[rank]) != counts(counted))
      return "rank " + std::to_string(rank) + " counts other terms than another one";
  }
  return "";
}

}  // namespace medley
