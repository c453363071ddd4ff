// Every task of the tree with the real agent: what the prober predicts is what a step takes.

#include <gtest/gtest.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/plan/prober.h>

#include <string>

#include "tests/step/agent_fixture.h"
#include "tests/sweep.h"

namespace medley {
namespace {

using namespace testing_fixture;

constexpr std::uint64_t kSeed = 5;
constexpr std::int64_t kPlanned = 21;  // rows: more than any probe has

struct Planned {
  TaskVariant what;
  at::ScalarType dtype = at::kFloat;
  LoraConfig lora{};
};
std::ostream& operator<<(std::ostream& out, const Planned& p) {
  return out << p.what << ", " << p.dtype << ", rank " << p.lora.rank;
}

std::vector<Planned> AllPlanned() {
  std::vector<Planned> all;
  for (const TaskVariant& what : AllVariants()) all.push_back({what});
  for (const TaskVariant& what : DefaultVariants()) all.push_back({what, at::kBFloat16});
  const LoraConfig lora{.rank = 4, .alpha = 8, .targets = {.names = {}, .pattern = kAllLinear}};
  all.push_back({{"control", "default"}, at::kFloat, lora});
  all.push_back({{"position_qa", "default"}, at::kBFloat16, lora});
  return all;
}

class AgentPeaks : public ::testing::TestWithParam<Planned> {
 protected:
  static void SetUpTestSuite() { InstallCpuAllocator(); }

  Batch Rows(std::int64_t begin, std::int64_t count, bool longest) const {
    const MemoryOwnerScope data(MemoryOwner::kData);
    return loaded_.Rows(begin, count, longest);
  }
  std::int64_t PeakOf(const Batch& rows, const Execution& plan) {
    const std::int64_t floor = ReadCpuMemory().now;
    ResetCpuPeak();
    loaded_.Run(rows, plan);
    const std::int64_t peak = ReadCpuMemory().peak - floor;
    ClearGradients(*loaded_.model);
    return peak;
  }

  AgentWithTask loaded_{GetParam().what, /*dropout=*/0, GetParam().dtype, /*qwen2=*/false, GetParam().lora};
};

TEST_P(AgentPeaks, ArePredictedToTheByteForTheLongestRowsAndNeverExceededByDrawnOnes) {
  Prober prober(*loaded_.model, loaded_.executor, at::kCPU, kSeed, std::int64_t{8} << 30);
  ContractCheck contract(*loaded_.model, at::kCPU);
  prober.CheckContract(contract, loaded_.task);
  for (const int recompute_every : {0, 1}) {
    for (const Mode mode : LegalModes(loaded_.task.variant())) {
      if (recompute_every > 0 && GetParam().what.variant != "default") continue;
      Execution plan{.way = {mode, recompute_every}, .micro_rows = 0, .term_weights = {}};
      TaskProfile profile;
      prober.Measure(loaded_.task, plan, profile);
      const ModeProfile& measured = profile.modes.at(0);
      ASSERT_GE(measured.whole.size(), 3U);
      prober.Confirm(loaded_.task, plan, kPlanned, profile);
      const PeakLines whole(measured.whole), pieces(measured.pieces);
      const std::string where = std::string(ModeName(mode)) + (recompute_every > 0 ? " recomputed" : "");
      const std::int64_t longest = PeakOf(Rows(0, kPlanned, /*longest=*/true), plan);
      if (ProbeRows(loaded_.task, kSeed).kinds() == 1) {
        EXPECT_EQ(longest, whole.At(kPlanned)) << where;
      } else {
        EXPECT_LE(longest, whole.At(kPlanned)) << where;
      }
      for (const std::int64_t rows : {1, 3, 12}) {
        const std::int64_t begin = 100 * rows;
        EXPECT_LE(PeakOf(Rows(begin, rows, false), plan), whole.At(rows)) << where << ", rows " << rows;
        EXPECT_LE(PeakOf(Rows(begin + 1, rows, true), plan), whole.At(rows)) << where << ", rows " << rows;
      }
      plan.micro_rows = 6;
      EXPECT_LE(PeakOf(Rows(40, kPlanned, false), plan), pieces.At(6)) << where << " in pieces";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllTasks, AgentPeaks,
                         ::testing::ValuesIn(test::Slice("AgentPeaks", AllPlanned(), 10)),
                         [](const auto& info) {
                           return NameOf(info.param.what) +
                                  (info.param.dtype == at::kBFloat16 ? "_bf16" : "") +
                                  (info.param.lora.rank > 0 ? "_adapters" : "");
                         });

}  // namespace
}  // namespace medley
