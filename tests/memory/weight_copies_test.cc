#include <ATen/Functions.h>
#include <gtest/gtest.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/memory/live_blocks.h>
#include <medley/memory/weight_copies.h>

#include <memory>
#include <vector>

namespace medley {
namespace {

// What lives, and how often somebody looked.
struct Device {
  BlocksBySize blocks;
  int looks = 0;
};

class FakeBlocks final : public LiveBlocks {
 public:
  explicit FakeBlocks(Device& device) : device_(device) {}
  BlocksBySize Look() override {
    ++device_.looks;
    return device_.blocks;
  }

 private:
  Device& device_;
};

// Two small parameters and a large one, each with two tensors of the optimizer's; and others.
const BlocksBySize kWeights = {{100, 2}, {5000, 1}};
constexpr std::int64_t kCopyBytes = 5200, kFloor = 20000;
Device Before() { return {.blocks = {{100, 6}, {5000, 3}, {77, 9}}}; }

TEST(WeightCopiesCount, CountsWholeCopiesBeyondWhatLivedBefore) {
  Device device = Before();
  WeightCopies copies(kWeights, std::make_unique<FakeBlocks>(device), kFloor);
  EXPECT_EQ(copies.bytes(), kCopyBytes);
  EXPECT_EQ(copies.Count(kFloor), 0);
  device.blocks[77] += 1000;
  EXPECT_EQ(copies.Count(kFloor + 2 * kCopyBytes), 0) << "others' blocks";
  device.blocks[100] += 200;
  EXPECT_EQ(copies.Count(kFloor + 3 * kCopyBytes), 0) << "many of a part are no copy";
  device.blocks[5000] += 1;
  EXPECT_EQ(copies.Count(kFloor + 4 * kCopyBytes), 1);
  device.blocks[5000] += 2;
  EXPECT_EQ(copies.Count(kFloor + 6 * kCopyBytes), 3);
  device.blocks = Before().blocks;
  device.blocks[5000] += 1;
  EXPECT_EQ(copies.Count(kFloor + kCopyBytes), 1) << "nine tenths";
  EXPECT_EQ(copies.Count(kFloor), 0) << "there is no room for a copy";
}

TEST(WeightCopiesCount, LooksWhereThereIsRoomAndWhereTheFloorMoved) {
  Device device = Before();
  WeightCopies copies(kWeights, std::make_unique<FakeBlocks>(device), kFloor);
  const auto looks = [&](int steps, std::int64_t floor) {
    device.looks = 0;
    for (int step = 0; step < steps; ++step) copies.Count(floor);
    return device.looks;
  };
  EXPECT_EQ(looks(500, kFloor + kCopyBytes / 2), 0);
  EXPECT_EQ(looks(50, kFloor + kCopyBytes), 1);
  EXPECT_EQ(looks(10, kFloor + kCopyBytes + 10), 0);
  EXPECT_EQ(looks(10, kFloor + 2 * kCopyBytes), 1);
  EXPECT_EQ(looks(1000, kFloor + 2 * kCopyBytes), 10);
}

TEST(WeightCopiesCount, WhereNobodyCanLookThereIsNoCopy) {
  WeightCopies copies(kWeights, nullptr, kFloor);
  EXPECT_EQ(copies.Count(kFloor + 10 * kCopyBytes), 0);
}

TEST(LiveBlocksTest, OfASnapshotThoseThatTensorsHoldCountBySizeAsAskedFor) {
  using Block = c10::CachingDeviceAllocator::BlockInfo;
  const auto block = [](std::size_t asked_for, bool allocated, bool active) {
    Block made;
    made.size = (asked_for + 511) / 512 * 512;
    made.requested_size = asked_for;
    made.allocated = allocated;
    made.active = active;
    return made;
  };
  std::vector<Segment> segments(3);
  segments[0].blocks = {block(100, true, true), block(400, true, true), block(400, false, true)};
  segments[1].blocks = {block(400, true, true), block(100, false, false)};
  segments[2].device = 1;
  segments[2].blocks = {block(100, true, true)};
  EXPECT_EQ(CountBlocks(segments, 0), (BlocksBySize{{100, 1}, {400, 2}}));
  EXPECT_EQ(CountBlocks(segments, 1), (BlocksBySize{{100, 1}}));
  EXPECT_EQ(CountBlocks({}, 0), BlocksBySize());
}

TEST(LiveBlocksTest, OnTheCpuTheAllocatorCounts) {
  InstallCpuAllocator();
  const auto blocks = WatchBlocks(at::kCPU, {12345, 54321});
  const BlocksBySize before = blocks->Look();
  std::vector<at::Tensor> kept;
  for (const std::int64_t size : {12345, 12345, 54321, 999}) kept.push_back(at::empty({size}, at::kByte));
  BlocksBySize now = blocks->Look();
  EXPECT_EQ(now.at(12345) - before.at(12345), 2);
  EXPECT_EQ(now.at(54321) - before.at(54321), 1);
  kept.clear();
  EXPECT_EQ(blocks->Look(), before);
}

}  // namespace
}  // namespace medley
