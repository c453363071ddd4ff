#include <medley/cluster/roll_call.h>

#include <gtest/gtest.h>

namespace medley {
namespace {

RollCall Full() {
  return {.step = 7,
          .mixer = 1LL << 60,
          .plan = -3,
          .weights = -(1LL << 62),
          .exchanges = 12,
          .stops = true,
          .saves = false,
          .guards = true,
          .failed = false,
          .clock = 1234.5678,
          .edited = true,
          .items = {0, 5, 1LL << 40}};
}

TEST(RollCall, IsReadBackAsItWasSaid) {
  const std::vector<std::int64_t> numbers = ToNumbers(Full());
  EXPECT_EQ(numbers.size(), kRollCallWidth);
  EXPECT_EQ(RollCallOf(numbers.data()), Full());
  RollCall other = Full();
  other.saves = other.failed = true;
  other.stops = other.guards = other.edited = false;
  EXPECT_EQ(RollCallOf(ToNumbers(other).data()), other);
}

TEST(RollCall, HasAsManyNumbersWhateverTheStep) {
  RollCall call = Full();
  call.items.assign(kRollCallItems + 9, 3);
  const std::vector<std::int64_t> numbers = ToNumbers(call);
  EXPECT_EQ(numbers.size(), kRollCallWidth);
  EXPECT_EQ(RollCallOf(numbers.data()).items.size(), kRollCallItems);
  EXPECT_EQ(ToNumbers(RollCall()).size(), kRollCallWidth);
}

TEST(RollCall, NamesTheFirstWhoIsNotWhereTheOthersAre) {
  std::vector<RollCall> calls(4, Full());
  calls[1].items = {9, 8, 7};
  calls[2].stops = false;
  calls[3].clock = 0;
  EXPECT_EQ(Difference(calls), "") << "each its own";
  calls[1].items = {9};
  EXPECT_EQ(Difference(calls), "rank 1 counts other terms than another one");
  calls[1].failed = true;
  EXPECT_EQ(Difference(calls), "") << "it has counted nothing";
  calls[1] = calls[0];
  calls[2].plan = 0;
  calls[3].step = 8;
  EXPECT_EQ(Difference(calls), "rank 2 runs its tasks by another plan than rank 0");
  calls[2] = calls[1];
  EXPECT_EQ(Difference(calls), "rank 3 is at another step than rank 0 (8, not 7)");
}

}  // namespace
}  // namespace medley
