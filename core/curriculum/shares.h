#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <medley/curriculum/mixer.h>

namespace medley {

inline constexpr std::int64_t kWholeShare = std::int64_t{1} << 32;
inline constexpr double kLargestWeight = 1e12;
inline constexpr std::int64_t kLargestUrn = 1'000'000;  // cards

inline constexpr const char* kNoRampOfUrns =
    "a ramp needs the order \"deficit\": an urn's cards are whole numbers for a filling";

// What is wrong with a mixture's weights; `task` is "" where it is all of them.
struct WeightProblem {
  std::string task;
  std::string message;
};
std::vector<WeightProblem> CheckWeights(const Mixture& mixture);

// Fixed-point shares that add up to kWholeShare exactly: each rounded down, and the units that are left go to
// the largest remainders, ties to the first. The weights must have passed CheckWeights.
std::vector<std::int64_t> FixedShares(const std::vector<double>& weights);

// Where a ramp stands at its draw `draw` of 1 .. ramp.draws, of kWholeShare; whole at the last. Made of
// integers alone, so that it is the same on every machine.
std::int64_t RampPosition(const Ramp& ramp, std::int64_t draw);
// Shares at that position between two that add up to kWholeShare each; so do these. Whoever has one at either
// end has at least a unit on the way.
std::vector<std::int64_t> SharesBetween(const std::vector<std::int64_t>& from,
                                        const std::vector<std::int64_t>& to, std::int64_t position);

// The cards of an urn in the order of one filling: index i stands cards[i] times. A function of its arguments
// alone.
std::vector<std::uint32_t> ShuffledCards(const std::vector<std::int64_t>& cards, std::uint64_t seed);

}  // namespace medley
