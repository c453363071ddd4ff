#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/memory/meter.h>

#include <vector>

namespace medley {
namespace {

at::Tensor Block(std::int64_t bytes) { return at::empty({bytes}, at::kByte); }

class MeterTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { InstallCpuAllocator(); }
};

TEST_F(MeterTest, ReadsTheCpusAllocator) {
  ResetPeak(at::kCPU);
  const MemoryReading before = ReadMemory(at::kCPU);
  const at::Tensor kept = Block(1000);
  Block(5000);
  const MemoryReading after = ReadMemory(at::kCPU);
  EXPECT_EQ(after.now - before.now, 1000);
  EXPECT_EQ(after.peak - before.now, 6000);
  EXPECT_EQ(after.reserved, after.now);
  EXPECT_EQ(after.retries, 0);
}

// Of a GPU: lines through what was asked for are straight, what is reserved is what the limit counts.
TEST_F(MeterTest, OfACachingAllocatorReadsWhatWasAskedForAndWhatIsReserved) {
  c10::CachingDeviceAllocator::DeviceStats stats;
  stats.requested_bytes[0].current = 1000;
  stats.requested_bytes[0].peak = 3000;
  stats.allocated_bytes[0].current = 1024;
  stats.allocated_bytes[0].peak = 3072;
  stats.reserved_bytes[0].current = 2 << 20;
  stats.reserved_bytes[0].peak = 4 << 20;
  const MemoryReading reading = ReadingOf(stats);
  EXPECT_EQ(reading.now, 1000);
  EXPECT_EQ(reading.peak, 3000);
  EXPECT_EQ(reading.reserved, 2 << 20);
  EXPECT_EQ(reading.reserved_peak, 4 << 20);
}

TEST_F(MeterTest, AByteLeftBehindIsALeakOnTheCpuAndAWorkspaceIsNoneOnAGpu) {
  EXPECT_FALSE(IsLeak(0, at::kCPU));
  EXPECT_TRUE(IsLeak(1, at::kCPU));
  EXPECT_FALSE(IsLeak(64 << 20, at::kCUDA));
  EXPECT_TRUE(IsLeak((64 << 20) + 1, at::kCUDA));
}

// Each draw has its own peak, and the step has the largest of all, also where that lies between the draws.
TEST_F(MeterTest, AStepsDrawsHavePeaksOfTheirOwn) {
  for (const std::int64_t between : {0, 9000}) {
    std::int64_t known = 0;
    StepMeter meter(at::kCPU, [&] { return known; });
    const std::int64_t floor = ReadMemory(at::kCPU).now;
    meter.BeginStep();
    meter.BeginDraw();
    at::Tensor gradients = Block(100);
    known = 100;
    Block(4000);
    meter.EndDraw("large");
    Block(between);
    meter.BeginDraw();
    Block(1000);
    const at::Tensor leak = Block(7);
    meter.EndDraw("small");
    gradients = at::Tensor();
    known = 0;
    const StepMemory step = meter.EndStep();
    ASSERT_EQ(step.draws.size(), 2u);
    EXPECT_EQ(step.draws[0].task, "large");
    EXPECT_EQ(step.draws[0].peak - floor, 4100);
    EXPECT_EQ(step.draws[0].kept, 0) << "gradients may stay";
    EXPECT_EQ(step.draws[1].peak - floor, 1100);
    EXPECT_EQ(step.draws[1].kept, 7);
    EXPECT_EQ(step.after.peak - floor, between == 0 ? 4100 : 9100);
    EXPECT_EQ(step.after.now - floor, 7);
    EXPECT_EQ(step.kept_between, 0);
  }
}

TEST_F(MeterTest, WhatIsFreedAfterTheDrawsWasTheirs) {
  StepMeter meter(at::kCPU, [] { return 0; });
  meter.BeginStep();
  std::vector<at::Tensor> sums, kept;
  for (const std::int64_t bytes : {0, 500}) {
    meter.BeginDraw();
    sums.push_back(Block(16));
    kept.push_back(Block(bytes));
    meter.EndDraw("task");
  }
  sums.clear();
  const StepMemory step = meter.EndStep();
  EXPECT_EQ(step.draws.at(0).kept, 0);
  EXPECT_EQ(step.draws.at(1).kept, 500);
  EXPECT_EQ(step.kept_between, 0);
}

TEST_F(MeterTest, WhatStaysBetweenTheDrawsAndBetweenTheStepsIsToldApart) {
  StepMeter meter(at::kCPU, [] { return 0; });
  std::vector<at::Tensor> kept;
  meter.BeginStep();
  kept.push_back(Block(11));
  meter.BeginDraw();
  kept.push_back(Block(300));
  meter.EndDraw("task");
  kept.push_back(Block(50));
  StepMemory step = meter.EndStep();
  EXPECT_EQ(step.draws.at(0).kept, 300);
  EXPECT_EQ(step.kept_between, 61);
  EXPECT_EQ(step.kept_outside, 0) << "there was no step before";
  kept.push_back(Block(4000));
  meter.BeginStep();
  step = meter.EndStep();
  EXPECT_EQ(step.kept_outside, 4000);
  EXPECT_EQ(step.kept_between, 0);
}

// Also where the step that loaded it fails, and runs again.
TEST_F(MeterTest, WhatATaskHoldsOnceItIsLoadedIsNobodysLeak) {
  for (const bool fails : {false, true}) {
    StepMeter meter(at::kCPU, [] { return 0; });
    std::vector<at::Tensor> kept;
    for (int step = 0; step < 3; ++step) {
      meter.BeginStep();
      if (step == 1) kept.push_back(Block(5000));
      meter.BeginDraws();
      if (step == 1 && fails) {
        meter.BeginDraw();
        kept.push_back(Block(70));
        EXPECT_EQ(meter.LeftBehind(), 70);
        kept.pop_back();
        meter.BeginStep();
        meter.BeginDraws();
      }
      meter.BeginDraw();
      meter.EndDraw("task");
      const StepMemory memory = meter.EndStep();
      EXPECT_EQ(memory.kept_between, 0) << step;
      EXPECT_EQ(memory.kept_outside, 0) << step;
      EXPECT_EQ(memory.draws.at(0).kept, 0) << step;
    }
  }
}

// The executor tells of no end then; the same rows are run again.
TEST_F(MeterTest, ADrawThatThrewIsForgotten) {
  StepMeter meter(at::kCPU, [] { return 0; });
  meter.BeginStep();
  meter.BeginDraw();
  Block(5000);
  meter.BeginDraw();
  Block(100);
  meter.EndDraw("task");
  const StepMemory step = meter.EndStep();
  ASSERT_EQ(step.draws.size(), 1u);
  EXPECT_EQ(step.draws[0].peak - step.before.now, 100);
  EXPECT_EQ(step.after.peak - step.before.now, 5000);
}

TEST_F(MeterTest, RowsThatWaitAreInputsNotPeak) {
  StepMeter meter(at::kCPU, [] { return 0; });
  at::Tensor rows;
  meter.BeginStep();
  {
    const MemoryOwnerScope data(MemoryOwner::kData);
    rows = Block(12345);
  }
  meter.BeginDraw();
  meter.EndDraw("task");
  rows = at::Tensor();
  const StepMemory step = meter.EndStep();
  EXPECT_EQ(step.after.data - step.before.data, 12345);
  EXPECT_EQ(step.after.peak, step.before.now);
}

TEST_F(MeterTest, GivingCachedMemoryBackChangesNoCount) {
  const at::Tensor kept = Block(1000);
  const MemoryReading before = ReadMemory(at::kCPU);
  ReleaseCachedMemory(at::kCPU);
  EXPECT_EQ(ReadMemory(at::kCPU).now, before.now);
}

}  // namespace
}  // namespace medley
