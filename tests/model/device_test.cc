#include <ATen/Context.h>
#include <ATen/record_function.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include <medley/model/device.h>

namespace medley {
namespace {

// libtorch's own switches, put back at the end.
class NumericsTest : public ::testing::Test {
 protected:
  NumericsTest() { ApplyNumerics(at::kCUDA, {}); }
  ~NumericsTest() override { ApplyNumerics(at::kCUDA, {}); }
};

TEST_F(NumericsTest, DeterminismIsAskedOfAGpuAndNotOfTheCpu) {
  at::Context& context = at::globalContext();
  const Numerics same_bits{.deterministic = true};
  ApplyNumerics(at::kCPU, same_bits);
  EXPECT_FALSE(context.deterministicAlgorithms());
  ApplyNumerics(at::kCUDA, same_bits);
  EXPECT_TRUE(context.deterministicAlgorithms());
  EXPECT_FALSE(context.deterministicAlgorithmsWarnOnly()) << "attention's kernel asks for this too";
  EXPECT_FALSE(context.deterministicFillUninitializedMemory());
  EXPECT_TRUE(context.deterministicCuDNN());
  ApplyNumerics(at::kCUDA, {});
  EXPECT_FALSE(context.deterministicAlgorithms());
}

TEST_F(NumericsTest, ProductsAreRoundedToTf32OnlyWhereThatIsAskedFor) {
  const at::Context& context = at::globalContext();
  EXPECT_FALSE(context.allowTF32CuBLAS());
  ApplyNumerics(at::kCPU, {.matmul_precision = "tf32"});
  EXPECT_FALSE(context.allowTF32CuBLAS());
  ApplyNumerics(at::kCUDA, {.matmul_precision = "tf32"});
  EXPECT_TRUE(context.allowTF32CuBLAS());
}

TEST_F(NumericsTest, TheWorkspacesOfCublasAreThoseOfDeterministicProducts) {
  EXPECT_EQ(WorkspaceConfig(nullptr), ":4096:8");
  EXPECT_EQ(WorkspaceConfig(":16:8"), ":16:8");
  EXPECT_EQ(WorkspaceConfig(":4096:2:16:8"), ":4096:8") << "which libtorch would refuse at the first product";
}

TEST(OneOfTheGpus, IsThatOfTheProcesssPlaceAmongThoseThatItMaySee) {
  EXPECT_EQ(OneOfTheGpus(nullptr, 2), "2");
  EXPECT_EQ(OneOfTheGpus("", 0), "0");
  EXPECT_EQ(OneOfTheGpus("4,7,GPU-8a", 2), "GPU-8a");
  EXPECT_EQ(OneOfTheGpus("5", 3), "5") << "a scheduler gave each process its own";
  EXPECT_EQ(OneOfTheGpus("4,7", 2), "") << "none is left, which shows when it is opened";
}

// The forward's thread and the backward's each get a workspace.
TEST(WarmUp, MultipliesInAForwardAndInABackward) {
  static std::atomic<int> products;
  products = 0;
  const auto handle =
      at::addGlobalCallback(at::RecordFunctionCallback([](const at::RecordFunction& function)
                                                           -> std::unique_ptr<at::ObserverContext> {
                              if (std::string(function.name()) == "aten::mm") ++products;
                              return nullptr;
                            }).scopes({at::RecordScope::FUNCTION}));
  WarmUpProducts(at::kCPU);
  at::removeCallback(handle);
  EXPECT_EQ(products, 3);
}

}  // namespace
}  // namespace medley
