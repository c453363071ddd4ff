#include <medley/cluster/roll_call.h>

#include <algorithm>

#include <medley/base/file_digest.h>
#include <medley/base/version.h>

namespace medley {

std::int64_t BuildNumber() {
  return HashNumber(std::string(Version()) + " " + std::string(GitRevision()) + " " +
                    std::string(Torch().build));
}

std::string Difference(const std::vector<RollCall>& calls) {
  struct Part {
    std::int64_t RollCall::*number;
    const char* words;
  };
  constexpr Part kParts[] = {
      {&RollCall::build, "is of another build of medley"},
      {&RollCall::step, "is at another step"},
      {&RollCall::exchanges, "has waited for the others another number of times"},
      {&RollCall::mixer, "draws from another mixture, or has drawn other rows"},
      {&RollCall::plan, "runs its tasks by another plan"},
      {&RollCall::weights, "has other parameters after the last step"},
  };
  const RollCall& first = calls.front();
  const auto failed = [](const RollCall& call) { return (call.flags & RollCall::kFailed) != 0; };
  const auto counts = [&](const RollCall& call) { return failed(call) ? 0 : call.item_count; };
  const RollCall& counted =
      *std::ranges::max_element(calls, [&](const auto& a, const auto& b) { return counts(a) < counts(b); });
  for (std::size_t rank = 1; rank < calls.size(); ++rank) {
    for (const Part& part : kParts) {
      const std::int64_t here = calls[rank].*part.number, there = first.*part.number;
      if (here == there) continue;
      std::string words = "rank " + std::to_string(rank) + " " + part.words + " than rank 0";
      if (part.number == &RollCall::step)
        words += " (" + std::to_string(here) + ", not " + std::to_string(there) + ")";
      return words;
    }
    if (!failed(calls[rank]) && counts(calls[rank]) != counts(counted))
      return "rank " + std::to_string(rank) + " counts other terms than another one";
  }
  return "";
}

}  // namespace medley
