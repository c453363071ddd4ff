#include <gtest/gtest.h>
#include <medley/cluster/roll_call.h>
#include <medley/cluster/wire.h>

namespace medley {
namespace {

constexpr std::size_t kWidth = 128;  // of every build: it need not read more than the first number

RollCall Full() {
  RollCall call{.build = 3,
                .step = 7,
                .exchanges = 12,
                .mixer = 1LL << 60,
                .plan = -3,
                .weights = -(1LL << 62),
                .flags = RollCall::kStops | RollCall::kGuards | RollCall::kEdited,
                .clock = 1234.5678,
                .item_count = 3};
  call.items[1] = 5;
  call.items[2] = 1LL << 40;
  return call;
}

TEST(RollCall, IsReadBackAsItWasSaidWithAsManyNumbersWhateverItIs) {
  EXPECT_EQ(ToWire(Full()).size(), kWidth);
  EXPECT_EQ(ToWire(RollCall()).size(), kWidth);
  EXPECT_EQ(ToWire(Full()).front(), 3) << "the build comes first";
  EXPECT_EQ(FromWire<RollCall>(ToWire(Full())), Full());
}

TEST(RollCall, NamesTheFirstWhoIsNotWhereTheOthersAre) {
  std::vector<RollCall> calls(4, Full());
  calls[1].items = {9, 8, 7};
  calls[2].flags = 0;
  calls[3].clock = 0;
  EXPECT_EQ(Difference(calls), "") << "each its own";
  calls[1].item_count = 1;
  EXPECT_EQ(Difference(calls), "rank 1 counts other terms than another one");
  calls[1].flags |= RollCall::kFailed;
  EXPECT_EQ(Difference(calls), "") << "it has counted nothing";
  calls[1] = calls[0];
  calls[2].plan = 0;
  calls[3].step = 8;
  EXPECT_EQ(Difference(calls), "rank 2 runs its tasks by another plan than rank 0");
  calls[2] = calls[1];
  EXPECT_EQ(Difference(calls), "rank 3 is at another step than rank 0 (8, not 7)");
  calls[3].build = 4;
  EXPECT_EQ(Difference(calls), "rank 3 is of another build of medley than rank 0");
}

TEST(Wire, GivesBackNumbersListsAndTextsOfAnyBytes) {
  using Message = std::tuple<bool, double, std::vector<std::int64_t>, std::string, std::string, bool>;
  const Message message{true, -0.1, {1, -2}, std::string("nine\0byte", 9), "", true};
  const std::vector<std::int64_t> numbers = ToWire(message);
  EXPECT_EQ(numbers.size(), 4u + 1u + 2u + 1u + 1u);
  EXPECT_EQ(FromWire(numbers, Message{false, 0, {0, 0}, "", "", false}), message);
}

TEST(Wire, OfACutMessageReadsNoMoreThanThereIs) {
  std::vector<std::int64_t> numbers = ToWire(std::string("sixteen bytes it"));
  numbers.pop_back();
  EXPECT_EQ(FromWire<std::string>(numbers), "sixteen ");
  EXPECT_EQ(FromWire<std::string>({-1}), "");
  EXPECT_EQ(FromWire<std::string>({}), "");
}

}  // namespace
}  // namespace medley
