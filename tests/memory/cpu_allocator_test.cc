#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>
#include <medley/memory/block_counts.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/memory/freed_pages.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <thread>
#include <vector>

namespace medley {
namespace {

class CpuAllocator : public ::testing::Test {
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

TEST_F(CpuAllocator, ABlockIsChargedToItsOwnerWhereverItIsFreed) {
  ResetCpuPeak();
  at::Tensor batch;
  std::thread data([&] {
    const MemoryOwnerScope scope(MemoryOwner::kData);
    batch = at::empty({1000}, at::kByte);
  });
  data.join();
  EXPECT_EQ(Now(), 0);
  EXPECT_EQ(ReadCpuMemory().peak, base_.now) << "what the data threads hold is in no step's peak";
  EXPECT_EQ(ReadCpuMemory().data_now - base_.data_now, 1000);
  batch = at::Tensor();  // on the trainer's thread
  EXPECT_EQ(Now(), 0);
  EXPECT_EQ(ReadCpuMemory().data_now, base_.data_now);
}

TEST_F(CpuAllocator, OwnerScopesNestAndEnd) {
  const auto owner_is_data = [&] {
    const at::Tensor probe = at::empty({1}, at::kByte);
    return Now() == 0;
  };
  EXPECT_FALSE(owner_is_data());
  {
    const MemoryOwnerScope data(MemoryOwner::kData);
    EXPECT_TRUE(owner_is_data());
    {
      const MemoryOwnerScope trainer(MemoryOwner::kTrainer);
      EXPECT_FALSE(owner_is_data());
    }
    EXPECT_TRUE(owner_is_data());
  }
  EXPECT_FALSE(owner_is_data());
}

TEST_F(CpuAllocator, TheBudgetBoundsAllOwnersTogether) {
  const CpuMemory before = ReadCpuMemory();
  SetCpuBudget(before.now + before.data_now + 1000);
  at::Tensor batch;
  {
    const MemoryOwnerScope data(MemoryOwner::kData);
    batch = at::empty({600}, at::kByte);
    EXPECT_THROW(at::empty({401}, at::kByte), c10::OutOfMemoryError);
  }
  EXPECT_THROW(at::empty({401}, at::kByte), c10::OutOfMemoryError);
  EXPECT_NO_THROW(at::empty({400}, at::kByte));
  EXPECT_EQ(ReadCpuMemory().ooms - before.ooms, 2);
}

// Blocks that grow from round to round fit none of the gaps that the ones before left between what stays, as
// when a planner tries more and more rows.
TEST_F(CpuAllocator, PagesOfFreedBlocksDoNotComeOnTopOfTheBudget) {
  constexpr std::int64_t kBudget = 640 << 20, kRound = 520 << 20, kRest = 4 << 10;
  const std::int64_t outside = ResidentBytes() - ReadCpuMemory().now;
  SetCpuBudget(ReadCpuMemory().now + ReadCpuMemory().data_now + kBudget);
  std::vector<at::Tensor> rest;
  std::int64_t most = 0;
  for (std::int64_t size = 2 << 20; size <= 14 << 20; size += 2 << 20) {
    std::vector<at::Tensor> round;
    for (std::int64_t done = 0; done < kRound; done += size) {
      round.push_back(at::ones({size}, at::kByte));
      rest.push_back(at::ones({kRest}, at::kByte));
    }
    most = std::max(most, ResidentBytes() - outside);
  }
  EXPECT_LT(most, kBudget + (150 << 20)) << "the rounds have " << kRound << " bytes each";
}

TEST_F(CpuAllocator, ThreadsNeverPassTheBudgetTogetherAndARefusalHurtsNobodyElse) {
  const CpuMemory before = ReadCpuMemory();
  SetCpuBudget(before.now + before.data_now + 4000);
  std::atomic<int> small_refused{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 3000; ++i) {
        try {
          at::empty({1000}, at::kByte);
        } catch (const c10::OutOfMemoryError&) {
          ++small_refused;
        }
      }
    });
    threads.emplace_back([] {
      for (int i = 0; i < 300; ++i) EXPECT_THROW(at::empty({5000}, at::kByte), c10::OutOfMemoryError);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(small_refused, 0);
  EXPECT_EQ(Now(), 0);
}

TEST_F(CpuAllocator, WatchedSizesCountTheBlocksThatCameSince) {
  const at::Tensor old = at::empty({7777}, at::kByte);
  at::Tensor older = at::empty({7777}, at::kByte);
  WatchCpuBlocks({7777, 64, 7777, 0});
  EXPECT_EQ(ExtraCpuBlocks(7777), 0);
  const std::vector<at::Tensor> more = {at::empty({7777}, at::kByte), at::empty({7777}, at::kByte),
                                        at::empty({7776}, at::kByte), at::empty({16}, at::kFloat)};
  EXPECT_EQ(ExtraCpuBlocks(7777), 2);
  EXPECT_EQ(ExtraCpuBlocks(64), 1);
  EXPECT_EQ(ExtraCpuBlocks(7776), 0) << "not watched";
  older = at::Tensor();
  EXPECT_EQ(ExtraCpuBlocks(7777), 1) << "an old block that goes makes room for a new one";
  {
    const MemoryOwnerScope data(MemoryOwner::kData);
    const at::Tensor batch = at::empty({7777}, at::kByte);
    EXPECT_EQ(ExtraCpuBlocks(7777), 1);
  }
  WatchCpuBlocks({});
  EXPECT_EQ(ExtraCpuBlocks(7777), 0);
}

TEST(BlockCountsTest, AgreeWithAMapOverManySizes) {
  std::mt19937 random(5);
  BlockCounts counts;
  std::vector<std::int64_t> sizes;
  for (int i = 0; i < 300; ++i) sizes.push_back(1 + random() % 100000);
  counts.Watch(sizes);
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  std::map<std::int64_t, std::int64_t> expected;
  for (int i = 0; i < 20000; ++i) {
    const std::int64_t size = random() % 2 == 0 ? sizes[random() % sizes.size()] : 1 + random() % 100000;
    const std::int64_t blocks = random() % 2 == 0 ? 1 : -1;
    counts.Add(size, blocks);
    expected[size] += blocks;
  }
  for (std::size_t i = 0; i < sizes.size(); ++i)
    EXPECT_EQ(counts.extra(sizes[i]), i < BlockCounts::kMost ? expected[sizes[i]] : 0) << sizes[i];
}

}  // namespace
}  // namespace medley
