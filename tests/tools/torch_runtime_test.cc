#include <ATen/Version.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include <medley/base/error.h>
#include <medley/base/torch_runtime.h>
#include <medley/base/version.h>

namespace medley {
namespace {

TEST(TorchRuntime, TheLoadedLibtorchIsTheOneThatMedleyWasBuiltFor) {
  EXPECT_NE(at::show_config().find("TORCH_VERSION=" + std::string(Torch().version)), std::string::npos);
  EXPECT_NE(at::show_config().find("BLAS_INFO=" + std::string(Torch().blas)), std::string::npos);
}

TEST(TorchRuntime, SaysWhyCudaCannotBeUsed) {
  EXPECT_EQ(CudaProblem(1, true), "");
  EXPECT_NE(CudaProblem(0, true).find("sees no GPU"), std::string::npos);
  EXPECT_NE(CudaProblem(1, false).find("asked for CUDA before its library was open"), std::string::npos);
}

TEST(TorchRuntime, CudaOpensOrSaysWhatWasTried) {
  try {
    LoadCuda();
    LoadCuda();  // again does nothing
    EXPECT_TRUE(CudaIsOpen());
  } catch (const InputError& error) {
    const std::string words = error.what();
    const auto says = [&](const char* part) { return words.find(part) != std::string::npos; };
    EXPECT_FALSE(CudaIsOpen());
    if (std::filesystem::exists(LoadedTorchDirectory() / "libtorch_cuda.so")) {
      EXPECT_TRUE(says("sees no GPU") || says("cannot open")) << words;
    } else {
      EXPECT_TRUE(says("has no libtorch_cuda.so")) << words;
    }
    EXPECT_EQ(error.code(), ExitCode::kBadInput);
  }
}

}  // namespace
}  // namespace medley
