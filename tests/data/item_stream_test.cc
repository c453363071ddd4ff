#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include <medley/base/error.h>
#include <medley/data/item_stream.h>

namespace medley {
namespace {

std::vector<std::int64_t> Order(std::int64_t count, std::uint64_t key) {
  const ShuffledOrder order(count, key);
  std::vector<std::int64_t> items;
  for (std::int64_t place = 0; place < count; ++place) items.push_back(order[place]);
  return items;
}

RowRange Rows(std::uint64_t seed, Split split) { return {.seed = seed, .split = split}; }

TEST(ShuffledOrder, HasEachItemOnce) {
  for (const std::int64_t count : {1, 2, 3, 4, 7, 64, 65, 1000, 4099}) {
    std::vector<std::int64_t> items = Order(count, 5), all(static_cast<std::size_t>(count));
    std::sort(items.begin(), items.end());
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(items, all) << count;
  }
}

// Of four items all 24 orders come equally often: 24,000 keys give each 1,000 times, with a deviation of 31.
TEST(ShuffledOrder, OfAFewItemsHasEveryOrderEquallyOften) {
  std::map<std::vector<std::int64_t>, int> seen;
  for (std::uint64_t key = 0; key < 24'000; ++key) ++seen[Order(4, key)];
  EXPECT_EQ(seen.size(), 24U);
  for (const auto& [order, times] : seen) EXPECT_NEAR(times, 1000, 160);
}

// Where an item goes says nothing of where it was, nor of where its neighbour goes: chi-squared over 16 x 16
// parts of the order has 225 degrees of freedom, so a mean of 225 and a deviation of 21.
TEST(ShuffledOrder, OfManyItemsMixesThemAll) {
  constexpr std::int64_t kCount = 100'000, kParts = 16;
  const auto part = [](std::int64_t item) { return static_cast<std::size_t>(item * kParts / kCount); };
  const auto chi_squared = [&](const std::array<std::array<double, kParts>, kParts>& counts) {
    const double expected = static_cast<double>(kCount) / (kParts * kParts);
    double sum = 0;
    for (const auto& row : counts) {
      for (const double count : row) sum += (count - expected) * (count - expected) / expected;
    }
    return sum;
  };
  for (std::uint64_t key = 0; key < 5; ++key) {
    const std::vector<std::int64_t> items = Order(kCount, key);
    std::array<std::array<double, kParts>, kParts> moved{}, pairs{};
    for (std::size_t place = 0; place < items.size(); ++place) {
      ++moved[part(static_cast<std::int64_t>(place))][part(items[place])];
      ++pairs[part(items[place])][part(items[(place + 1) % items.size()])];
    }
    EXPECT_NEAR(chi_squared(moved), 225, 110) << key;
    EXPECT_NEAR(chi_squared(pairs), 225, 110) << key;
  }
}

TEST(ItemStream, AnEpochShowsEachItemOnceAndTheNextOneInAnotherOrder) {
  const ItemStream stream(100, 0, "clips");
  std::array<std::vector<std::int64_t>, 3> epochs;
  for (std::int64_t row = 0; row < 300; ++row)
    epochs[static_cast<std::size_t>(row / 100)].push_back(stream.ItemOf(Rows(3, Split::kTraining), row));
  EXPECT_NE(epochs[0], epochs[1]);
  EXPECT_NE(epochs[1], epochs[2]);
  for (const auto& epoch : epochs) EXPECT_EQ(std::set<std::int64_t>(epoch.begin(), epoch.end()).size(), 100U);
}

TEST(ItemStream, TheSplitsShareNoItemWhateverTheRun) {
  const ItemStream stream(50, 12, "clips");
  ASSERT_EQ(stream.size(Split::kHeldOut), 12);
  ASSERT_EQ(stream.size(Split::kTraining), 38);
  std::set<std::int64_t> held_out, trained;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (std::int64_t row = 0; row < 38; ++row) {
      held_out.insert(stream.ItemOf(Rows(seed, Split::kHeldOut), row));
      trained.insert(stream.ItemOf(Rows(seed, Split::kTraining), row));
    }
  }
  EXPECT_EQ(held_out.size(), 12U);
  EXPECT_EQ(trained.size(), 38U);
  for (const std::int64_t item : held_out) EXPECT_EQ(trained.count(item), 0U);
}

TEST(ItemStream, AnotherNameHoldsOutOthers) {
  const auto held_out = [](std::string_view name) {
    std::set<std::int64_t> items;
    for (std::int64_t row = 0; row < 12; ++row)
      items.insert(ItemStream(50, 12, name).ItemOf(Rows(1, Split::kHeldOut), row));
    return items;
  };
  EXPECT_NE(held_out("clips"), held_out("films"));
}

// A resume after years of training finds its row as fast as the first.
TEST(ItemStream, FindsARowFarAway) {
  const ItemStream stream(10'000'000, 1000, "clips");
  std::set<std::int64_t> items;
  constexpr std::int64_t kFar = std::int64_t{1} << 50;
  for (std::int64_t row = kFar; row < kFar + 1000; ++row)
    items.insert(stream.ItemOf(Rows(1, Split::kTraining), row));
  EXPECT_GE(items.size(), 999U);  // an epoch may end in between
}

TEST(ItemStream, KeepsTheSplitsThatFilesMake) {
  const ItemStream stream(SplitSizes{7, 3});
  ASSERT_EQ(stream.size(Split::kTraining), 7);
  ASSERT_EQ(stream.size(Split::kHeldOut), 3);
  const auto epoch = [&](Split split, std::int64_t from, std::int64_t count) {
    std::multiset<std::int64_t> items;
    for (std::int64_t row = from; row < from + count; ++row) items.insert(stream.ItemOf(Rows(2, split), row));
    return items;
  };
  EXPECT_EQ(epoch(Split::kTraining, 14, 7), (std::multiset<std::int64_t>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(epoch(Split::kHeldOut, 3, 3), (std::multiset<std::int64_t>{7, 8, 9}));
  EXPECT_THROW(ItemStream(SplitSizes{0, 3}), InputError);
  EXPECT_THROW(ItemStream(SplitSizes{3, 0}), InputError);
}

TEST(ItemStream, LeavesSomethingForTraining) {
  EXPECT_THROW(ItemStream(0, 0, "clips"), InputError);
  EXPECT_THROW(ItemStream(5, 5, "clips"), InputError);
  EXPECT_THROW(ItemStream(5, -1, "clips"), InputError);
}

}  // namespace
}  // namespace medley
