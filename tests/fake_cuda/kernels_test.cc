// The kernels of medley_kernels.so, called by medley on a GPU that computes on the CPU, and by a stand-in
// that runs every thread of each launch there.
#include <gtest/gtest.h>

#include <ATen/Functions.h>
#include <dlfcn.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/model/blocks/kernel_check.h>
#include <medley/model/gpu_kernels.h>

namespace medley {
namespace {

const c10::Device kDevice(c10::kCUDA, 0);
const std::vector<at::ScalarType> kTypes = {at::kFloat, at::kBFloat16, at::kHalf};
// A small agent's, and one whose sizes divide by nothing.
const std::vector<KernelShapes> kShapes = {
    {.norms = {64}, .heads = {{4, 16}, {2, 16}}, .norms_heads = true, .gated = 160, .words = 300},
    {.norms = {1029, 9}, .heads = {{3, 70}}, .norms_heads = false, .gated = 77, .words = 1501}};

class OnAFakeGpu : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv("MEDLEY_KERNELS", MEDLEY_WRONG_KERNELS, 1);
    ASSERT_NE(dlopen(MEDLEY_FAKE_CUDA, RTLD_NOW | RTLD_GLOBAL), nullptr) << dlerror();
    ASSERT_EQ(KernelsProblem(kDevice), "");
  }
  void TearDown() override { unsetenv("MEDLEY_WRONG"), UseKernels({}); }
};

TEST_F(OnAFakeGpu, EveryKernelIsAsNearToFloat64AsItsOperators) {
  for (const at::ScalarType type : kTypes) {
    for (const KernelShapes& shapes : kShapes) {
      const KernelVerdicts verdicts = CheckKernels(shapes, type, kDevice);
      EXPECT_EQ(verdicts.Words(), "") << type;
      for (const KernelVerdict& one : verdicts.of) {
        EXPECT_TRUE(one.used) << one.what << " in " << type;
        EXPECT_LE(one.error, one.tolerance);
      }
    }
  }
  for (const bool used : KernelsInUse().used) EXPECT_FALSE(used);
}

TEST_F(OnAFakeGpu, AKernelThatIsWrongIsLeftAsideAndItsNumbersAreSaid) {
  for (const at::ScalarType type : kTypes) {
    for (const std::string fault :
         {"norm one", "norm last", "norm backward", "norm weight", "gated one", "gated last",
          "gated backward", "losses one", "losses last", "losses backward", "adamw one", "adamw last",
          "adamw means", "gated gate", "losses smaller"}) {
      SCOPED_TRACE(fault + " in " + c10::toString(type));
      setenv("MEDLEY_WRONG", fault.c_str(), 1);
      const KernelVerdicts verdicts = CheckKernels(kShapes[0], type, kDevice);
      const std::string kernel = fault.substr(0, fault.find(' '));
      const std::vector<std::string> names = {"norm", "gated", "losses", "adamw"};
      for (std::size_t i = 0; i < names.size(); ++i)
        EXPECT_EQ(verdicts.of[i].used, names[i] != kernel) << names[i];
      EXPECT_NE(verdicts.Words().find("the kernel of " + kernel + " is left aside: the "), std::string::npos)
          << verdicts.Words();
      EXPECT_EQ(verdicts.Words().find(';'), std::string::npos) << verdicts.Words();
    }
  }
}

TEST_F(OnAFakeGpu, AVerdictIsReadAsItWasWritten) {
  setenv("MEDLEY_WRONG", "gated one", 1);
  const KernelVerdicts verdicts = CheckKernels(kShapes[0], at::kFloat, kDevice);
  const KernelVerdicts read = VerdictsIn(nlohmann::ordered_json::parse(ToJson(verdicts).dump()));
  EXPECT_EQ(read.Words(), verdicts.Words());
  EXPECT_EQ(ToJson(read), ToJson(verdicts));
  EXPECT_TRUE(read.AreOf(at::kFloat, kDevice));
  EXPECT_FALSE(read.AreOf(at::kHalf, kDevice));
  KernelVerdicts of_another_card = read;
  of_another_card.card += "0";
  EXPECT_FALSE(of_another_card.AreOf(at::kFloat, kDevice)) << "then they are tried anew";
  EXPECT_THROW(VerdictsIn({{"norm", 1}}), InputError);
}

// Of the run's own random numbers none is drawn.
TEST_F(OnAFakeGpu, TryingKernelsDrawsNoRandomNumbers) {
  at::manual_seed(5);
  const at::Tensor expected = at::rand({3});
  at::manual_seed(5);
  CheckKernels(kShapes[0], at::kFloat, kDevice);
  EXPECT_TRUE(at::rand({3}).equal(expected));
}

}  // namespace
}  // namespace medley
