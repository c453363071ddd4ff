// The installed package, as somebody who writes a plugin sees it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include <medley/base/version.h>

#include "tests/report/scratch_directory.h"
#include "tests/sweep.h"
#include "tests/tools/installed.h"
#include "tests/tools/run_command.h"

namespace medley {
namespace {

using test::Shell;
namespace fs = std::filesystem;

using InstallTest = test::InstalledTest;

constexpr const char* kProject = R"(cmake_minimum_required(VERSION 3.24)
project(outside LANGUAGES CXX)
find_package(medley REQUIRED)
add_executable(outside main.cc)
target_link_libraries(outside PRIVATE medley::medley)
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

TEST_F(InstallTest, TheManPageAndTheSchemasComeAlong) {
  for (const char* file :
       {"/share/man/man1/medley.1", "/share/medley/configs/schema/plan-output.schema.json"})
    EXPECT_TRUE(fs::is_regular_file(Prefix() + file)) << file;
}

TEST_F(InstallTest, TheTensorVerbsOpen) {
  const auto result = Shell(Prefix() + "/bin/medley train --help 2>&1");
  EXPECT_EQ(result.code, 0) << result.out;
}

constexpr const char* kTinyTraining =
    "/share/medley/configs/runs/quickstart.json threads=1 plan=false steps=1 eval.every=0 tensorboard=false "
    "--out ";

// Packagers install into a folder that stands for the root, users move what they have installed.
TEST_F(InstallTest, AMovedPrefixTrainsAndAPluginBuildsAgainstIt) {
  const fs::path staged = directory_ / "stage";
  const auto install = Shell("DESTDIR=" + staged.string() + " " + MEDLEY_CMAKE +
                             " --install " MEDLEY_BUILD_DIR " --prefix /opt/medley 2>&1");
  ASSERT_EQ(install.code, 0) << install.out;
  fs::remove_all(Prefix());
  fs::rename(staged / "opt/medley", Prefix());
  const auto trained = Shell(Prefix() + "/bin/medley train " + Prefix() + kTinyTraining +
                             (directory_ / "run").string() + " 2>&1");
  EXPECT_EQ(trained.code, 0) << trained.out;
  fs::copy(MEDLEY_SOURCE_DIR "/plugins/minimal", directory_ / "project", fs::copy_options::recursive);
  ASSERT_NO_FATAL_FAILURE(Build());
  const auto tasks =
      Shell(Prefix() + "/bin/medley tasks --plugin-path " +
            (directory_ / "project/build/lib/medley/" MEDLEY_PLUGIN_FOLDER).string() + " 2>&1");
  EXPECT_NE(tasks.out.find("count_on"), std::string::npos) << tasks.out;
}

TEST_F(InstallTest, TheLibtorchThatTheEnvironmentNamesIsOpenedFirst) {
  const fs::path torch = directory_ / "torch";
  fs::create_directories(torch);
  fs::create_directory_symlink(TorchLibraryDirectory(), torch / "lib");
  const std::string train =
      Prefix() + "/bin/medley train " + Prefix() + kTinyTraining + (directory_ / "run").string();
  const auto named = Shell("MEDLEY_TORCH_ROOT=" + torch.string() + " LD_DEBUG=files " + train + " 2>&1");
  EXPECT_EQ(named.code, 0);
  EXPECT_NE(named.out.find("calling init: " + (torch / "lib/libtorch_cpu.so").string()), std::string::npos);
  EXPECT_EQ(named.out.find("calling init: " + (TorchLibraryDirectory() / "libtorch_cpu.so").string()),
            std::string::npos);
  const auto none = Shell("MEDLEY_TORCH_ROOT=" + directory_.string() + " " + train + " 2>&1");
  EXPECT_EQ(none.code, 2) << none.out;
  EXPECT_NE(none.out.find("there is no lib/libtorch_cpu.so below it"), std::string::npos) << none.out;
  Write("torch/version.py", "__version__ = '2.15.0+cpu'\n");  // whatever its libraries are
  const auto other = Shell("MEDLEY_TORCH_ROOT=" + torch.string() + " " + train + " 2>&1");
  EXPECT_EQ(other.code, 2) << other.out;
  EXPECT_NE(other.out.find("MEDLEY_TORCH_ROOT: this medley was built for libtorch " +
                           std::string(Torch().version) + ", and " + torch.string() + " is 2.15.0"),
            std::string::npos)
      << other.out;
}

TEST_F(InstallTest, AProgramOutsideBuildsAgainstThePackage) {
  Write("project/CMakeLists.txt", kProject);
  Write("project/main.cc", R"(
#include <medley/base/version.h>
#include <medley/task/task.h>
#include <medley/task/tensors.h>
#include <iostream>
int main() { std::cout << medley::Version() << (at::ones({2}) * 4 == 4).sum().item<int>() * medley::kSheetRows; }
)");
  ASSERT_NO_FATAL_FAILURE(Build());
  EXPECT_EQ(Shell((directory_ / "project/build/outside").string()).out, std::string(Version()) + "16");
}

TEST_F(InstallTest, AProjectWithoutAPrefixInstallsWhereItsUsersMedleySearches) {
  fs::copy(MEDLEY_SOURCE_DIR "/plugins/minimal", directory_ / "project", fs::copy_options::recursive);
  const std::string user = "XDG_DATA_HOME=" + (directory_ / "data").string() + " ";
  ASSERT_EQ(setenv("XDG_DATA_HOME", (directory_ / "data").c_str(), 1), 0);
  ASSERT_NO_FATAL_FAILURE(Build());
  const std::string install =
      std::string(MEDLEY_CMAKE) + " --install " + (directory_ / "project/build").string();
  EXPECT_EQ(Shell(install + " 2>&1").code, 0);
  EXPECT_TRUE(fs::exists(directory_ / "data/medley/" MEDLEY_PLUGIN_FOLDER "/minimal.so"));
  EXPECT_EQ(Shell(user + Prefix() + "/bin/medley tasks count_on").code, 0);
  ASSERT_NO_FATAL_FAILURE(Build("-DCMAKE_INSTALL_PREFIX=" + (directory_ / "mine").string()));
  EXPECT_EQ(Shell(install + " 2>&1").code, 0);
  EXPECT_TRUE(fs::exists(directory_ / "mine/lib/medley/" MEDLEY_PLUGIN_FOLDER "/minimal.so"));
  unsetenv("XDG_DATA_HOME");
}

TEST_F(InstallTest, WhereTestingIsEnabledAPluginIsCheckedByATest) {
  Write("project/CMakeLists.txt", R"(cmake_minimum_required(VERSION 3.24)
project(checked LANGUAGES CXX)
find_package(medley REQUIRED)
enable_testing()
medley_add_plugin(minimal ${MINIMAL}/minimal.cc)
medley_add_plugin(configured ${MINIMAL}/minimal.cc CHECK_CONFIG run.json)
)");
  ASSERT_NO_FATAL_FAILURE(Build("-DMINIMAL=" MEDLEY_SOURCE_DIR "/plugins/minimal"));
  const auto tested =
      Shell("cd " + (directory_ / "project/build").string() + " && ctest --output-on-failure 2>&1");
  EXPECT_NE(tested.out.find("minimal.check ....................   Passed"), std::string::npos) << tested.out;
  // There is none, so it is seen that it was asked for.
  EXPECT_NE(tested.out.find("no such file: " + (directory_ / "project/run.json").string()), std::string::npos)
      << tested.out;
}

// What a user would be told at the first run is told by the build.
TEST_F(InstallTest, APluginsNoteIsReadAfterLinking) {
  Write("project/CMakeLists.txt", R"(cmake_minimum_required(VERSION 3.24)
project(forgotten LANGUAGES CXX)
find_package(medley REQUIRED)
medley_add_plugin(forgotten forgotten.cc)
)");
  Write("project/forgotten.cc", "int Nothing() { return 0; }\n");
  ASSERT_EQ(Configure().code, 0);
  const auto built =
      Shell(std::string(MEDLEY_CMAKE) + " --build " + (directory_ / "project/build").string() + " 2>&1");
  EXPECT_NE(built.code, 0) << built.out;
  EXPECT_NE(built.out.find("forgotten.so (not a plugin)"), std::string::npos) << built.out;
}

// The commands of its README.md, in a copy of a folder of plugins/, with few steps: that both are learned is
// KitLearns'.
class PluginOutside : public InstallTest {
 protected:
  // A sweep of two: one trains until it has learned, the other a few steps.
  static bool IsLearned(const std::string& plugin) {
    static const auto slice = test::Slice<std::string>("PluginOutside", {"minimal", "picture"}, 2);
    return std::find(slice.begin(), slice.end(), plugin) != slice.end();
  }
  static int Rows(const std::string& plugin) { return IsLearned(plugin) ? 64 : 8; }

  // Its `task` in an evaluation.
  nlohmann::json Train(const std::string& plugin, const std::string& task, const std::string& sampled) {
    fs::copy(MEDLEY_SOURCE_DIR "/plugins/" + plugin, directory_ / "project", fs::copy_options::recursive);
    Build();
    const std::string medley = "cd " + (directory_ / "project").string() + " && " + Prefix() + "/bin/medley ";
    const std::string plugins = " --plugin-path build/lib/medley/" MEDLEY_PLUGIN_FOLDER " 2>&1";
    const auto tasks = Shell(medley + "tasks --json" + plugins);
    EXPECT_NE(tasks.out.find('"' + task + '"'), std::string::npos) << tasks.out;
    EXPECT_NE(tasks.out.find("\"position_qa\""), std::string::npos) << "the installed plugins are missing";
    const auto sample = Shell(medley + "sample " + task + plugins);
    EXPECT_EQ(sample.code, 0) << sample.out;
    EXPECT_NE(sample.out.find(sampled), std::string::npos) << sample.out;
    const auto trained =
        Shell(medley + "train " + Prefix() + "/share/medley/configs/runs/plugin.json --out run" +
              " weights=weights.json threads=1" + (IsLearned(plugin) ? "" : " steps=4") + plugins);
    EXPECT_EQ(trained.code, 0) << trained.out;
    const auto scored = Shell(medley + "eval run --rows " + std::to_string(Rows(plugin)) + " 2>&1");
    EXPECT_EQ(scored.code, 0) << scored.out;
    std::ifstream file(directory_ / "project/run/eval.json");
    return nlohmann::json::parse(file).at("tasks").at(task);
  }
};

TEST_F(PluginOutside, TheMinimalOneTrainsAndIsScored) {
  const nlohmann::json score = Train("minimal", "count_on", "<eos>]");
  EXPECT_EQ(score.at("rows"), Rows("minimal"));
  if (IsLearned("minimal")) {
    EXPECT_GT(score.at("value"), 0.5);
  }
}

TEST_F(PluginOutside, ThePictureTrainsAndIsScoredWithASheet) {
  const nlohmann::json score = Train("picture", "repaint", "(columns: image, target)");
  EXPECT_EQ(score.at("rows"), Rows("picture"));
  EXPECT_GT(score.at("trivial").at("input"), 0.0);
  if (IsLearned("picture")) {
    EXPECT_LT(score.at("value"), score.at("trivial").at("input"));
  }
  EXPECT_TRUE(fs::exists(directory_ / "project/run/sheet-repaint.png"));
}

// What checks.h shows, as the test of that plugin.
TEST_F(InstallTest, APluginsOwnTestChecksItWithTheInstalledModelAndPackage) {
  fs::copy(MEDLEY_SOURCE_DIR "/plugins/minimal", directory_ / "project", fs::copy_options::recursive);
  std::ofstream(directory_ / "project/CMakeLists.txt", std::ios::app) << R"(
add_executable(count_on_test count_on_test.cc)
target_link_libraries(count_on_test PRIVATE medley::testing)
)";
  Write("project/count_on_test.cc", R"(#include <medley/testing/checks.h>

int main() {
  const medley::check::Bench bench(")" + Prefix() +
                                        R"(/share/medley/configs/runs/quickstart.json",
                                   {"build/lib/medley/)" MEDLEY_PLUGIN_FOLDER
                                        R"("}, {"weights=weights.json", "threads=1"});
  return medley::check::Report(medley::check::All(bench.Task("count_on"), bench.model()));
}
)");
  ASSERT_NO_FATAL_FAILURE(Build());
  const auto checked = Shell("cd " + (directory_ / "project").string() + " && build/count_on_test 2>&1");
  EXPECT_EQ(checked.code, 0) << checked.out;
}

// The game's code too, which draws pictures with floating-point arithmetic.
TEST_F(InstallTest, APluginOfClangTrainsTheSameRowsToTheSameBits) {
  Write("project/CMakeLists.txt", R"(cmake_minimum_required(VERSION 3.24)
project(outside LANGUAGES CXX)
find_package(medley REQUIRED)
add_compile_options(-Wall -Wextra -Werror)
set(CMAKE_UNITY_BUILD ON)
set(tree ")" MEDLEY_SOURCE_DIR R"(")
file(GLOB shared ${tree}/tasks/world/*.cc ${tree}/tasks/drivers/*.cc)
medley_add_plugin(zoom SOURCES ${tree}/tasks/zoom/zoom.cc ${shared})
target_include_directories(zoom PRIVATE ${tree})
)");
  Write("weights.json", R"({"weights": {"zoom_agent": 1, "zoom_halfway": 1}})");
  ASSERT_NO_FATAL_FAILURE(
      Build("-DCMAKE_CXX_COMPILER=clang++ -DCMAKE_CXX_FLAGS= -DCMAKE_BUILD_TYPE=Release"));
  const auto metrics = [&](const std::string& name, const std::string& plugins) {
    const fs::path run = directory_ / name;
    const auto trained =
        Shell(Prefix() + "/bin/medley train " + Prefix() +
              "/share/medley/configs/runs/quickstart.json threads=1 plan=false steps=6 weights=" +
              (directory_ / "weights.json").string() + " --out " + run.string() + plugins + " 2>&1");
    EXPECT_EQ(trained.code, 0) << trained.out;
    return ReadText(run / "metrics.jsonl");
  };
  const std::string of_gcc = metrics("gcc", "");
  EXPECT_GT(of_gcc.size(), 500U);
  EXPECT_EQ(metrics("clang", " --plugin-path " + (directory_ / "project/build/lib/medley/").string() +
                                 MEDLEY_PLUGIN_FOLDER),
            of_gcc);
}

// As somebody with the installed files alone can find it out.
TEST_F(InstallTest, TheDigestIsThatOfThePluginsInstalledHeaders) {
  std::istringstream lines(ReadText(fs::path(Prefix()) / "include/medley_headers.sha256"));
  std::string sums, headers;
  for (std::string one, header; lines >> one >> header;)
    sums += one + "\n", headers += (headers.empty() ? "" : ";") + Prefix() + "/include/medley/" + header;
  EXPECT_EQ(Shell("cmake '-DHEADERS=" + headers + "' -P " + Prefix() + "/" +
                  "lib/cmake/medley/MedleyHeadersDigest.cmake 2>&1")
                .out,
            sums);
  const auto sum = Shell("sha256sum " + Prefix() + "/include/medley_headers.sha256 | cut -c 1-16");
  const std::string header = ReadText(fs::path(Prefix()) / "include/medley_headers.h");
  EXPECT_NE(header.find("DIGEST \"" + sum.out.substr(0, 16) + "\""), std::string::npos) << sum.out << header;
  const std::string named = ReadText(fs::path(Prefix()) / "include/medley_headers.sha256");
  EXPECT_NE(named.find("  task/plugin.h"), std::string::npos) << named;
  EXPECT_EQ(named.find("  session/session.h"), std::string::npos) << named;
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
