#include <gtest/gtest.h>
#include <medley/report/memory_ledger.h>

namespace medley {
namespace {

TEST(MemoryLedger, AddsUpAndLeavesOutWhatIsNothing) {
  const MemoryLedger ledger{
      .weights = 1, .gradients = 20, .optimizer = 300, .constants = 4000, .activations = 50000};
  EXPECT_EQ(ledger.total(), 54321);
  EXPECT_EQ(ledger.Words(),
            "parameters 1 B, gradients 20 B, optimizer 300 B, constants 3.9 KiB, activations 48.8 KiB");
}

TEST(MemoryLedger, IsWrittenWithTheConstantsOfEachTask) {
  const MemoryLedger ledger{.gradients = 20, .constants = 4000, .workspace = 300};
  EXPECT_EQ(ToJson(ledger, {{"a", 1000}, {"b", 3000}}).dump(),
            R"({"total":4320,"weights":0,"gradients":20,"optimizer":0,"constants":{"a":1000,"b":3000},)"
            R"("inputs":0,"activations":0,"workspace":300,"unused":0})");
  EXPECT_EQ(ToJson(MemoryLedger{}, {}).at("constants").dump(), "{}");
}

}  // namespace
}  // namespace medley
