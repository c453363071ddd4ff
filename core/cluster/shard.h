#pragma once

#include <cstdint>
#include <vector>

namespace medley {

// Whose part is meant of what is divided among processes. One of one has the whole.
struct ShardPlace {
  std::int64_t rank = 0, ranks = 1;
};

// Numbers of a tensor that follow one another: their places, counted from its first.
struct NumberRange {
  std::int64_t begin = 0, end = 0;

  std::int64_t size() const { return end - begin; }
  bool operator==(const NumberRange&) const = default;
};

// Tensors are cut between blocks of so many numbers: moments in eight bits have a scale for each, and what a
// processor computes at once lies in one of them, so no sum is rounded in another way.
inline constexpr std::int64_t kShardBlock = 256;
// Smaller tensors stay whole.
inline constexpr std::int64_t kLeastCut = 4096;

// Which numbers of tensors of these sizes are one process's. Those of all processes are all numbers, each
// once. A process has its even part of them, and at either end no more than half of a block or of a tensor
// that stays whole. A function of the arguments alone: every process finds the same, whatever a step uses.
std::vector<NumberRange> DivideNumbers(const std::vector<std::int64_t>& sizes, const ShardPlace& place);

}  // namespace medley
