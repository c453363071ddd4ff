// cmake/MedleyFindTorch.cmake: what it takes, what it passes over and why.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <medley/base/version.h>

#include "tests/tools/run_command.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using test::CommandResult;
using test::Shell;

class FindTorchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "medley_torch_XXXXXX";
    directory_ = mkdtemp(pattern.data());
    Write("CMakeLists.txt",
          "cmake_minimum_required(VERSION 3.22)\nproject(finder LANGUAGES CXX)\n"
          "list(APPEND CMAKE_MODULE_PATH " MEDLEY_SOURCE_DIR "/cmake)\ninclude(MedleyFindTorch)\n");
    ActivePythonHas("");
  }
  void TearDown() override { fs::remove_all(directory_); }

  void Write(const fs::path& file, const std::string& text) const {
    fs::create_directories((directory_ / file).parent_path());
    std::ofstream(directory_ / file) << text;
  }
  // A folder that looks like libtorch from outside.
  std::string Fake(const std::string& minor, const std::string& c10) const {
    Write("fake/include/torch/headeronly/version.h",
          "#define TORCH_VERSION_MAJOR 2\n#define TORCH_VERSION_MINOR " + minor +
              "\n#define TORCH_VERSION_PATCH 0\n");
    Write("fake/include/ATen/ATen.h", "");
    Write("fake/lib/libtorch_cpu.so", "");
    Write("fake/lib/libc10.so", c10);
    return directory_ / "fake";
  }
  void ActivePythonHas(const std::string& torch) const {
    Write("bin/python3", "#!/bin/sh\necho " + torch + "\n");
    fs::permissions(directory_ / "bin/python3", fs::perms::owner_all);
  }
  CommandResult Configure(const std::string& options) const {
    return Shell("PATH=" + (directory_ / "bin").string() + ":$PATH " MEDLEY_CMAKE " -S " +
                 directory_.string() + " -B " + (directory_ / "build").string() + " " + options + " 2>&1");
  }

  fs::path directory_;
};

TEST_F(FindTorchTest, WhatTorchDirNamesIsTaken) {
  const auto result = Configure("-DTorch_DIR=" + TorchRoot().string() + "/share/cmake/Torch");
  EXPECT_EQ(result.code, 0) << result.out;
  EXPECT_NE(result.out.find(TorchRoot().string() + " (Torch_DIR"), std::string::npos) << result.out;
}

TEST_F(FindTorchTest, APrefixPathComesBeforeTheActivePython) {
  ActivePythonHas(Fake("11", "__cxx11"));
  const auto result = Configure("-DCMAKE_PREFIX_PATH=" + TorchRoot().string() + "/share/cmake");
  EXPECT_EQ(result.code, 0) << result.out;
  EXPECT_NE(result.out.find(TorchRoot().string() + " (CMAKE_PREFIX_PATH"), std::string::npos) << result.out;
}

TEST_F(FindTorchTest, AnOldOneOfTheActivePythonIsPassedOverWithTheReason) {
  ActivePythonHas(Fake("6", "__cxx11"));
  fs::create_directories(directory_ / ".venv/lib/python3.11/site-packages");
  fs::create_directory_symlink(TorchRoot(), directory_ / ".venv/lib/python3.11/site-packages/torch");
  const auto result = Configure("");
  EXPECT_EQ(result.code, 0) << result.out;
  EXPECT_NE(result.out.find("fake (the active Python): it is 2.6.0"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("(the project's .venv"), std::string::npos) << result.out;
}

TEST_F(FindTorchTest, OneOfTheActivePythonThatDoesNotLinkIsPassedOverWithTheReason) {
  ActivePythonHas(Fake("11", "__cxx11"));
  fs::create_directories(directory_ / ".venv/lib/python3.11/site-packages");
  fs::create_directory_symlink(TorchRoot(), directory_ / ".venv/lib/python3.11/site-packages/torch");
  const auto result = Configure("");
  EXPECT_EQ(result.code, 0) << result.out;
  EXPECT_NE(result.out.find("fake (the active Python): a ten-line program cannot be linked"),
            std::string::npos)
      << result.out;
  EXPECT_NE(result.out.find("(the project's .venv"), std::string::npos) << result.out;
}

TEST_F(FindTorchTest, TheOldAbiIsRefused) {
  const auto result = Configure("-DMEDLEY_TORCH_ROOT=" + Fake("11", "old"));
  EXPECT_NE(result.code, 0);
  EXPECT_NE(result.out.find("_GLIBCXX_USE_CXX11_ABI=0"), std::string::npos) << result.out;
}

TEST_F(FindTorchTest, OneThatDoesNotLinkIsRefused) {
  const auto result = Configure("-DMEDLEY_TORCH_ROOT=" + Fake("11", "__cxx11"));
  EXPECT_NE(result.code, 0);
  EXPECT_NE(result.out.find("cannot be linked"), std::string::npos) << result.out;
}

TEST_F(FindTorchTest, ANameThatHoldsNoneIsAnErrorThatSaysWhatToDo) {
  const auto result = Configure("-DMEDLEY_TORCH_ROOT=/nowhere");
  EXPECT_NE(result.code, 0);
  EXPECT_NE(result.out.find("/nowhere"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("tools/setup"), std::string::npos) << result.out;
}

}  // namespace
}  // namespace medley
