#include <medley/base/torch_folder.h>

#include <gtest/gtest.h>
#include <medley/base/version.h>

#include <fstream>

#include "tests/report/scratch_directory.h"

namespace medley {
namespace {

namespace fs = std::filesystem;

class TorchFolder : public ::testing::Test {
 protected:
  void WriteFile(const std::string& name, const std::string& text) {
    fs::create_directories((directory_ / name).parent_path());
    std::ofstream(directory_ / name) << text;
  }

  ScratchDirectory scratch_;
  const fs::path directory_ = scratch_.path();
};

TEST_F(TorchFolder, ALibraryInAPythonPackageWasInstalledByPip) {
  EXPECT_EQ(SitePackagesOf(directory_ / "site-packages/medley/lib"), "");
  WriteFile("site-packages/medley/__init__.py", "");
  EXPECT_EQ(SitePackagesOf(directory_ / "site-packages/medley/lib"), directory_ / "site-packages");
  EXPECT_EQ(SitePackagesOf(LibraryDirectory()), "");
  EXPECT_EQ(TorchRoot() / "lib", TorchLibraryDirectory());
}

TEST_F(TorchFolder, ThePackageSaysItsReleaseBeforeItsHeadersDo) {
  EXPECT_EQ(TorchReleaseIn(directory_), "");
  WriteFile("include/torch/headeronly/version.h",
            "#pragma once\n#define TORCH_VERSION_MAJOR 2\n#define TORCH_VERSION_MINOR 15\n"
            "#define TORCH_VERSION_PATCH 3\n");
  EXPECT_EQ(TorchReleaseIn(directory_), "2.15.3");
  WriteFile("version.py", "from typing import Optional\n\n__version__ = '2.10.0+cu130'\ndebug = False\n");
  EXPECT_EQ(TorchReleaseIn(directory_), "2.10.0");
  WriteFile("version.py", "__version__ = \"2.11.0a0+git\"\n");
  EXPECT_EQ(TorchReleaseIn(directory_), "2.11.0");
  EXPECT_EQ(TorchReleaseIn(TorchRoot()), Torch().version);
}

TEST_F(TorchFolder, AnotherReleaseIsNamedBesideTheOneThatIsNeeded) {
  EXPECT_EQ(WhyOtherTorch(TorchRoot()), "");
  EXPECT_EQ(WhyOtherTorch(directory_), "") << "nothing is known";
  WriteFile("version.py", "__version__ = '2.15.0'\n");
  const std::string why = WhyOtherTorch(directory_);
  EXPECT_NE(why.find("was built for libtorch " + std::string(Torch().version) + ", and " +
                     directory_.string() + " is 2.15.0"),
            std::string::npos)
      << why;
  EXPECT_NE(why.find("MEDLEY_TORCH_ROOT"), std::string::npos) << why;
}

}  // namespace
}  // namespace medley
