#include <c10/core/Device.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>

#include <medley/base/files.h>
#include <medley/model/gpu_kernels.h>

namespace medley {
namespace {

namespace fs = std::filesystem;

const fs::path kModule = fs::path(MEDLEY_BUILD_DIR) / "lib/medley/medley_kernels.so";

bool HasWords(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

TEST(CompactKernels, AreOfThisBuildOrSayWhyNot) {
  EXPECT_TRUE(HasWords(kernels::OpenModule("/no/medley_kernels.so").problem, "tools/setup --cuda"));
  EXPECT_TRUE(HasWords(kernels::OpenModule(MEDLEY_OTHER_KERNELS).problem, "of another build of medley"));
  EXPECT_TRUE(HasWords(kernels::OpenModule(MEDLEY_SOURCE_DIR "/README.md").problem, "cannot be opened"));
  EXPECT_EQ(kernels::OpenModule(kModule).problem.empty(), fs::exists(kModule));
}

TEST(CompactKernels, AreNotTheCpus) {
  EXPECT_TRUE(HasWords(KernelsProblem(c10::Device(c10::kCPU)), "not on a GPU"));
  EXPECT_TRUE(HasWords(KernelsProblem(c10::Device(c10::kMeta)), "not on a GPU"));
}

// nvcc leaves the options of each compilation in the file.
TEST(CompactKernels, AreCompiledForEveryArchitectureWithoutFusedMultiplications) {
  if (!fs::exists(kModule)) GTEST_SKIP() << "medley_kernels.so was not built here";
  const std::string code = ReadFile(kModule);
  std::istringstream architectures(
      MEDLEY_KERNEL_ARCHITECTURES);  // of those that medley names what this nvcc knows
  int count = 0;
  for (std::string architecture; architectures >> architecture; ++count) {
    const std::string options = "-arch sm_" + architecture + " -m 64 -fmad false";
    EXPECT_TRUE(HasWords(code, options)) << options;
  }
  EXPECT_GT(count, 0);
}

}  // namespace
}  // namespace medley
