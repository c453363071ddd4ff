// The installed package, as somebody who writes a plugin sees it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include <medley/base/version.h>

#include "tests/tools/run_command.h"

namespace medley {
namespace {

using test::Shell;
namespace fs = std::filesystem;

class InstallTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "medley_install_XXXXXX";
    directory_ = mkdtemp(pattern.data());
    const auto result =
        Shell(std::string(MEDLEY_CMAKE) + " --install " MEDLEY_BUILD_DIR " --prefix " + Prefix() + " 2>&1");
    ASSERT_EQ(result.code, 0) << result.out;
  }
  void TearDown() override { fs::remove_all(directory_); }

  std::string Prefix() const { return directory_ / "prefix"; }

  void Write(const fs::path& file, const std::string& text) const {
    fs::create_directories((directory_ / file).parent_path());
    std::ofstream(directory_ / file) << text;
  }
  // Configures the project in project/, which uses the package.
  test::CommandResult Configure(const std::string& options = "") const {
    return Shell(std::string(MEDLEY_CMAKE) + " -S " + (directory_ / "project").string() + " -B " +
                 (directory_ / "project/build").string() + " -Dmedley_DIR=" + Prefix() +
                 "/lib/cmake/medley " + options + " 2>&1");
  }

  fs::path directory_;
};

constexpr const char* kProject = R"(cmake_minimum_required(VERSION 3.22)
project(outside LANGUAGES CXX)
find_package(medley REQUIRED)
add_executable(outside main.cc)
target_link_libraries(outside PRIVATE medley::medley)
medley_add_plugin(tiny_outside plugin.cc)
target_include_directories(tiny_outside PRIVATE ${FIXTURES})
)";

TEST_F(InstallTest, TheInstalledCommandAnswersWithItsOwnLibraries) {
  const auto result = Shell(Prefix() + "/bin/medley version --json");
  ASSERT_EQ(result.code, 0);
  EXPECT_EQ(nlohmann::json::parse(result.out).at("version"), Version());
  const auto loaded = Shell("LD_DEBUG=files " + Prefix() + "/bin/medley version 2>&1 >/dev/null").out;
  EXPECT_NE(loaded.find(Prefix() + "/bin/../lib/libmedley_base.so"), std::string::npos);
  EXPECT_EQ(loaded.find(MEDLEY_BUILD_DIR "/lib"), std::string::npos)
      << "it opened the build tree's libraries";
}

TEST_F(InstallTest, TheTensorVerbsOpen) {
  const auto result = Shell(Prefix() + "/bin/medley train --help 2>&1");
  EXPECT_EQ(result.code, 0) << result.out;
}

TEST_F(InstallTest, AProgramAndAPluginOutsideBuildAgainstThePackageAndAreFound) {
  Write("project/CMakeLists.txt", kProject);
  Write("project/main.cc", R"(
#include <medley/base/torch_runtime.h>
#include <medley/base/version.h>
#include <medley/task/task.h>
#include <iostream>
int main() { std::cout << medley::Version() << medley::TorchConfiguration().empty(); }
)");
  Write("project/plugin.cc", R"(
#include <medley/task/plugin.h>
#include "tests/plugin/fixtures/tiny.h"
namespace medley::testing {
struct Outside final : TinyTask {
  using TinyTask::TinyTask;
  static constexpr TaskSpec kSpec = TinySpec("outside");
};
MEDLEY_PLUGIN(Outside)
}  // namespace medley::testing
)");
  const auto configured = Configure("-DFIXTURES=" MEDLEY_SOURCE_DIR);
  ASSERT_EQ(configured.code, 0) << configured.out;
  const auto built =
      Shell(std::string(MEDLEY_CMAKE) + " --build " + (directory_ / "project/build").string() + " 2>&1");
  ASSERT_EQ(built.code, 0) << built.out;
  EXPECT_EQ(Shell((directory_ / "project/build/outside").string()).out, std::string(Version()) + "0");
  const auto tasks = Shell(Prefix() + "/bin/medley tasks --json --plugin-path " +
                           (directory_ / "project/build/lib/medley/plugins-1").string() + " 2>&1");
  EXPECT_EQ(tasks.code, 0) << tasks.out;
  EXPECT_NE(tasks.out.find("\"outside\""), std::string::npos) << tasks.out;
  EXPECT_NE(tasks.out.find("\"position_qa\""), std::string::npos) << "the installed plugins are missing";
}

TEST_F(InstallTest, AnotherLibtorchIsRefusedWithBothVersions) {
  Write("project/CMakeLists.txt", kProject);
  Write("torch/include/torch/headeronly/version.h",
        "#define TORCH_VERSION_MAJOR 2\n#define TORCH_VERSION_MINOR 99\n#define TORCH_VERSION_PATCH 3\n");
  const auto result = Configure("-DMEDLEY_TORCH_ROOT=" + (directory_ / "torch").string());
  EXPECT_NE(result.code, 0);
  EXPECT_NE(result.out.find("2.99.3"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find(Torch().version), std::string::npos) << result.out;
}

}  // namespace
}  // namespace medley
