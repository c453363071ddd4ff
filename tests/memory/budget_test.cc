#include <c10/util/Exception.h>
#include <gtest/gtest.h>
#include <medley/base/error.h>
#include <medley/memory/budget.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/memory/host_memory.h>
#include <medley/memory/meter.h>
#include <medley/memory/weight_copies.h>

#include <string>
#include <vector>

#include "tests/step/executor_fixture.h"

namespace medley {
namespace {

using testing_fixture::FixtureModel;
using testing_fixture::Says;

class BudgetTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { InstallCpuAllocator(); }
  void TearDown() override { SetCpuBudget(0); }
};

std::string Refusal(const std::string& request) {
  return testing_fixture::MessageOf<InputError>([&] { ResolveBudget(ParseBudget(request), at::kCPU); });
}

TEST_F(BudgetTest, WhatIsFreeIsTheDefaultAndIsSaid) {
  const at::Tensor used = at::empty({1 << 20}, at::kByte);
  const Budget budget = ResolveBudget({}, at::kCPU);
  const HostMemory host = ReadHostMemory();
  EXPECT_NEAR(static_cast<double>(budget.free), static_cast<double>(host.available), 1 << 28);
  EXPECT_EQ(budget.bytes, budget.free - KeptBack(budget.free, budget.total, at::kCPU));
  EXPECT_TRUE(Says(budget.Words(), {"budget ", "what is free of "}));
}

TEST_F(BudgetTest, AFractionIsOfAllThatTheDeviceHas) {
  const Budget budget = ResolveBudget(ParseBudget("25%"), at::kCPU);
  EXPECT_EQ(budget.bytes, static_cast<std::int64_t>(0.25 * static_cast<double>(ReadHostMemory().total)));
  EXPECT_TRUE(Says(budget.Words(), {"budget ", " are free"}));
}

TEST_F(BudgetTest, AboveTheMachineIsRefusedWithTheNumbers) {
  const std::int64_t total = ReadHostMemory().total;
  EXPECT_TRUE(Says(Refusal(std::to_string(total + 1)),
                   {"budget", std::to_string(total), "are more than cpu has", "are free", "Give less"}));
  EXPECT_EQ(ResolveBudget(ParseBudget(std::to_string(total)), at::kCPU).bytes, total);
  EXPECT_TRUE(Says(Refusal("500TiB"), {"500 TiB"}));
}

TEST_F(BudgetTest, IsEnforcedToTheByte) {
  const MemoryReading now = ReadMemory(at::kCPU);
  Budget budget = ResolveBudget({}, at::kCPU);
  budget.bytes = now.now + now.data + 1000;
  EnforceBudget(budget, at::kCPU);
  EXPECT_NO_THROW(at::empty({1000}, at::kByte));
  EXPECT_THROW(at::empty({1001}, at::kByte), c10::OutOfMemoryError);
  EXPECT_EQ(ReadMemory(at::kCPU).ooms, now.ooms + 1);
}

TEST_F(BudgetTest, BelowTheWeightsIsRefusedWithTheSumAndItsParts) {
  const MemoryLedger fixed{.weights = 10 << 20, .gradients = 9 << 20, .optimizer = 18 << 20};
  EXPECT_NO_THROW(CheckFixedBytes({.bytes = 37 << 20}, fixed));
  // A larger budget is only proposed where the machine has one.
  for (const auto& [total, advice] :
       {std::pair{64 << 20, "Raise budget"}, {36 << 20, "This machine has no more than 36 MiB"}}) {
    try {
      CheckFixedBytes({.bytes = (37 << 20) - 1, .total = total}, fixed);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kDoesNotFit);
      EXPECT_TRUE(Says(error.what(), {"parameters 10 MiB", "gradients 9 MiB", "optimizer state 18 MiB",
                                      "38797312 bytes", "(1 bytes) are missing", advice}));
    }
  }
}

// Of a GPU, whose allocator reads them when it starts.
TEST_F(BudgetTest, SegmentsGrowUnlessTheEnvironmentDecides) {
  const std::string limit = "per_process_memory_fraction:0.250000000000";
  EXPECT_EQ(AllocatorSettings("", 0.25), "expandable_segments:True," + limit);
  EXPECT_EQ(AllocatorSettings("roundup_power2_divisions:4", 0.25),
            "expandable_segments:True,roundup_power2_divisions:4," + limit);
  for (const char* decided : {"expandable_segments:False", "max_split_size_mb:64", "backend:cudaMallocAsync"})
    EXPECT_EQ(AllocatorSettings(decided, 0.25), decided + ("," + limit));
  EXPECT_TRUE(Says(AllocatorSettings("", 1.0 / 3), {"fraction:0.333333333333"})) << "never rounded up";
}

TEST_F(BudgetTest, OfWhatIsFreeRoomIsKeptForWhatIsNoTensor) {
  constexpr std::int64_t kGiB = std::int64_t{1} << 30;
  EXPECT_EQ(KeptBack(15 * kGiB, 16 * kGiB, at::kCUDA), kGiB);
  EXPECT_EQ(KeptBack(300 * kGiB, 400 * kGiB, at::kCUDA), 4 * kGiB);
  EXPECT_EQ(KeptBack(kGiB / 2, 16 * kGiB, at::kCUDA), kGiB / 2);
  EXPECT_EQ(KeptBack(60 * kGiB, 64 * kGiB, at::kCPU), 4 * kGiB);
  EXPECT_EQ(KeptBack(12 * kGiB, 16 * kGiB, at::kCPU), kGiB);
  EXPECT_EQ(KeptBack(2 * kGiB, 16 * kGiB, at::kCPU), kGiB / 4);
  const Budget budget{.bytes = 15, .free = 16, .total = 16, .kept_back = std::int64_t{1} << 30};
  EXPECT_TRUE(Says(budget.Words(), {"what is free of 16 B", "but 1 GiB for what is no tensor"}));
}

TEST_F(BudgetTest, ALaterRunOfAProcessTakesTheFirstOnesLimitUnlessItAsksForAnother) {
  EXPECT_EQ(DecideLaterBudget(100, {.bytes = 100, .asked = true}), LaterBudget::kTheSame);
  EXPECT_EQ(DecideLaterBudget(100, {.bytes = 90, .asked = false}), LaterBudget::kTheFirst);
  EXPECT_EQ(DecideLaterBudget(100, {.bytes = 90, .asked = true}), LaterBudget::kMoved);
  EXPECT_EQ(DecideLaterBudget(0, {.bytes = 90, .asked = false}), LaterBudget::kMoved)
      << "somebody else started the allocator";
}

class WeightCopiesTest : public BudgetTest {};

TEST_F(WeightCopiesTest, ASecondModelIsCountedAndItsGradientsAreNot) {
  FixtureModel model;
  WeightCopies copies = WatchWeights(model, at::kCPU);
  EXPECT_EQ(copies.Count(ReadCpuMemory().now), 0);
  {
    const FixtureModel second;
    EXPECT_EQ(copies.Count(ReadCpuMemory().now), 1);
    const FixtureModel third;
    EXPECT_EQ(copies.Count(ReadCpuMemory().now), 2);
  }
  EXPECT_EQ(copies.Count(ReadCpuMemory().now), 0);
}

TEST_F(WeightCopiesTest, ClonesAtEveryUpdateAreCountedTensorsOfOneSizeAreNot) {
  FixtureModel model;
  WeightCopies copies = WatchWeights(model, at::kCPU);
  std::vector<at::Tensor> kept;
  const auto clone = [&] {
    for (const Parameter& parameter : model.parameters()) kept.push_back(parameter.tensor.detach().clone());
  };
  for (int update = 1; update <= 5; ++update) {
    clone();
    EXPECT_EQ(copies.Count(ReadCpuMemory().now), update);
  }
  kept.clear();
  for (int i = 0; i < 1000; ++i) kept.push_back(model.parameters()[0].tensor.detach().clone());
  EXPECT_EQ(copies.Count(ReadCpuMemory().now), 0);
}

TEST_F(WeightCopiesTest, SaysWhereItIsBlind) {
  FixtureModel model;
  EXPECT_EQ(BlindnessOf(WatchWeights(model, at::kCPU)), "");
  EXPECT_TRUE(Says(BlindnessOf(WeightCopies({{8, 1}}, nullptr, 0)), {"not watched", "medley_cuda.so"}));
}

}  // namespace
}  // namespace medley
