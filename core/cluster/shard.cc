#include <medley/cluster/shard.h>

#include <algorithm>
#include <numeric>

namespace medley {
namespace {

// Where a tensor is cut whose first number has the place `first` in the line of all, so that what lies before
// `target` is cut off. No target behind another one gives a lesser place.
std::int64_t CutOf(std::int64_t size, std::int64_t first, std::int64_t target) {
  const std::int64_t place = std::clamp<std::int64_t>(target - first, 0, size);
  if (place == 0 || place == size) return place;
  if (size < kLeastCut) return 2 * place < size ? 0 : size;
  return std::min(size, (place + kShardBlock / 2) / kShardBlock * kShardBlock);
}

}  // namespace

std::vector<NumberRange> DivideNumbers(const std::vector<std::int64_t>& sizes, const ShardPlace& place) {
  const std::int64_t all = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  // In two parts, so that no product is too large.
  const auto target = [&](std::int64_t rank) {
    return all / place.ranks * rank + all % place.ranks * rank / place.ranks;
  };
  const std::int64_t begin = target(place.rank), end = target(place.rank + 1);
  std::vector<NumberRange> ranges;
  std::int64_t first = 0;
  for (const std::int64_t size : sizes) {
    ranges.push_back({CutOf(size, first, begin), CutOf(size, first, end)});
    first += size;
  }
  return ranges;
}

}  // namespace medley
