#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>
#include <medley/memory/cpu_allocator.h>

#include <cstdint>
#include <random>
#include <thread>
#include <vector>

namespace medley {
namespace {

class CpuAllocator : public testing::Test {
 protected:
  void SetUp() override {
    InstallCpuAllocator();
    base_ = ReadCpuMemory();
  }
  void TearDown() override {
    SetCpuBudget(0);
    FailCpuAllocation(0);
  }
  std::int64_t Now() const { return ReadCpuMemory().now - base_.now; }

  CpuMemory base_;
};

TEST_F(CpuAllocator, CountsRequestedBytesExactly) {
  std::mt19937 random(1);
  std::vector<at::Tensor> tensors;
  std::int64_t expected = 0, peak = 0;
  ResetCpuPeak();
  for (int i = 0; i < 500; ++i) {
    if (tensors.size() > 5 && random() % 2 == 0) {
      const std::size_t victim = random() % tensors.size();
      expected -= static_cast<std::int64_t>(tensors[victim].nbytes());
      tensors.erase(tensors.begin() + static_cast<std::ptrdiff_t>(victim));
    } else {
      tensors.push_back(at::empty({static_cast<std::int64_t>(random() % 5000)}, at::kByte));
      expected += static_cast<std::int64_t>(tensors.back().nbytes());
    }
    peak = std::max(peak, expected);
    ASSERT_EQ(Now(), expected);
  }
  EXPECT_EQ(ReadCpuMemory().peak - base_.now, peak);
  tensors.clear();
  EXPECT_EQ(Now(), 0);
}

TEST_F(CpuAllocator, BlocksAreAlignedAndSizeZeroIsNull) {
  std::vector<at::Tensor> tensors;
  for (int bytes = 1; bytes < 300; ++bytes) {
    tensors.push_back(at::full({bytes}, bytes % 251, at::kByte));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensors.back().data_ptr()) % 64, 0U);
  }
  for (int bytes = 1; bytes < 300; ++bytes)
    EXPECT_TRUE(tensors[bytes - 1].eq(bytes % 251).all().item<bool>());
  EXPECT_EQ(c10::GetCPUAllocator()->allocate(0).get(), nullptr);
}

TEST_F(CpuAllocator, TheRawInterfaceWorks) {
  c10::Allocator* allocator = c10::GetCPUAllocator();
  void* data = allocator->raw_allocate(1000);
  EXPECT_EQ(Now(), 1000);
  allocator->raw_deallocate(data);
  EXPECT_EQ(Now(), 0);
  at::gelu(at::ones({64, 64}));  // oneDNN's asserts a context that equals its data pointer
}

TEST_F(CpuAllocator, ABudgetThrowsOneByteTooLateAndLeavesNothingBehind) {
  SetCpuBudget(ReadCpuMemory().now + 1000);
  EXPECT_NO_THROW(at::empty({1000}, at::kByte));
  EXPECT_THROW(at::empty({1001}, at::kByte), c10::OutOfMemoryError);
  EXPECT_EQ(Now(), 0);
  const at::Tensor half = at::empty({500}, at::kByte);
  EXPECT_THROW(at::empty({501}, at::kByte), c10::OutOfMemoryError);
  EXPECT_NO_THROW(at::empty({500}, at::kByte));
  EXPECT_EQ(Now(), 500);
  SetCpuBudget(0);
  EXPECT_NO_THROW(at::empty({1001}, at::kByte));
}

TEST_F(CpuAllocator, ARefusedAllocationDoesNotRaiseThePeak) {
  ResetCpuPeak();
  SetCpuBudget(ReadCpuMemory().now + 10);
  EXPECT_THROW(at::empty({1 << 20}, at::kByte), c10::OutOfMemoryError);
  EXPECT_EQ(ReadCpuMemory().peak, base_.now);
}

TEST_F(CpuAllocator, TheNthAllocationFailsOnce) {
  for (int nth = 1; nth <= 4; ++nth) {
    FailCpuAllocation(nth);
    for (int i = 1; i <= 6; ++i) {
      if (i == nth) {
        EXPECT_THROW(at::empty({8}, at::kByte), c10::OutOfMemoryError);
      } else {
        EXPECT_NO_THROW(at::empty({8}, at::kByte));
      }
    }
  }
  EXPECT_EQ(Now(), 0);
}

TEST_F(CpuAllocator, CountsAreExactOverThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 2000; ++i) at::empty({i % 100 + 1}, at::kByte);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Now(), 0);
  EXPECT_GE(ReadCpuMemory().allocations - base_.allocations, 8000);
}

}  // namespace
}  // namespace medley
