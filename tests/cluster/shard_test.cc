#include <gtest/gtest.h>
#include <medley/base/random.h>
#include <medley/cluster/shard.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace medley {
namespace {

std::int64_t Numbers(const std::vector<NumberRange>& ranges) {
  return std::accumulate(ranges.begin(), ranges.end(), std::int64_t{0},
                         [](std::int64_t sum, const NumberRange& range) { return sum + range.size(); });
}

TEST(Shard, DividesAllNumbersBetweenBlocksAndEvenly) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    RowRandom random(seed);
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(random.Below(12) + 1));
    for (std::int64_t& size : sizes) size = random.Below(seed % 2 == 0 ? 300 : 40000);
    const std::int64_t all = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
    for (const std::int64_t ranks : {1, 2, 3, 8}) {
      std::vector<std::int64_t> done(sizes.size());
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        const std::vector<NumberRange> own = DivideNumbers(sizes, {rank, ranks});
        ASSERT_EQ(own.size(), sizes.size());
        for (std::size_t i = 0; i < sizes.size(); ++i) {
          EXPECT_EQ(own[i].begin, done[i]) << "behind that of the rank before";
          EXPECT_GE(own[i].end, own[i].begin);
          const bool whole = own[i].end == 0 || own[i].end == sizes[i];
          EXPECT_TRUE(whole || (own[i].end % kShardBlock == 0 && sizes[i] >= kLeastCut)) << own[i].end;
          done[i] = own[i].end;
        }
        EXPECT_LE(std::abs(Numbers(own) - all / ranks), kLeastCut) << "of " << all;
      }
      EXPECT_EQ(done, sizes);
    }
  }
}

}  // namespace
}  // namespace medley
