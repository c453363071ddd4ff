#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/report/scratch_directory.h"
#include "tests/tools/run_command.h"

namespace medley::test {

// The package, installed into a directory of the test's own.
class InstalledTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "medley_install_XXXXXX";
    directory_ = mkdtemp(pattern.data());
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

  std::filesystem::path directory_;
};

}  // namespace medley::test
