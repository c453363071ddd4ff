#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/report/scratch_directory.h"
#include "tests/tools/run_command.h"

namespace medley::test {

// The package, installed into a directory of the test's own.
class InstalledTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "medley_install_XXXXXX";
    directory_ = mkdtemp(pattern.data());
    // Nothing that is built here is waited for, unless it says otherwise: CMake begins with these.
    setenv("CMAKE_BUILD_TYPE", "Unoptimized", 1);
    setenv("CXXFLAGS", kQuickFlags, 1);
    const auto result =
        Shell(std::string(MEDLEY_CMAKE) + " --install " MEDLEY_BUILD_DIR " --prefix " + Prefix() + " 2>&1");
    ASSERT_EQ(result.code, 0) << result.out;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string Prefix() const { return directory_ / "prefix"; }

  void Write(const std::filesystem::path& file, const std::string& text) const {
    std::filesystem::create_directories((directory_ / file).parent_path());
    std::ofstream(directory_ / file) << text;
  }
  // Configures the project in project/, which uses the package.
  CommandResult Configure(const std::string& options = "") const {
    return Shell(std::string(MEDLEY_CMAKE) + " -S " + (directory_ / "project").string() + " -B " +
                 (directory_ / "project/build").string() + " -Dmedley_DIR=" + Prefix() +
                 "/lib/cmake/medley " + options + " 2>&1");
  }

  void Build(const std::string& options = "") const {
    const auto configured = Configure(options);
    ASSERT_EQ(configured.code, 0) << configured.out;
    const auto built =
        Shell(std::string(MEDLEY_CMAKE) + " --build " + (directory_ / "project/build").string() + " 2>&1");
    ASSERT_EQ(built.code, 0) << built.out;
  }

  // CMakeLists.txt of one project of these folders, each with the plugin of its name: one configuration for
  // all, and the header that plugins begin with is read once.
  static std::string ProjectOf(const std::vector<std::string>& folders) {
    std::string project =
        "cmake_minimum_required(VERSION 3.24)\nproject(all LANGUAGES CXX)\nenable_testing()\n";
    for (const std::string& folder : folders) {
      const std::string header =
          folder == folders[0] ? "PRIVATE <medley/task/plugin.h>" : "REUSE_FROM " + folders[0];
      project += "add_subdirectory(" + folder + ")\nset_target_properties(" + folder +
                 " PROPERTIES DEFINE_SYMBOL \"\")\ntarget_precompile_headers(" + folder + " " + header +
                 ")\n";
    }
    return project;
  }
  static constexpr const char* kQuickFlags = MEDLEY_QUICK_FLAGS;

  std::filesystem::path directory_;
};

}  // namespace medley::test
