#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include <medley/task/abi.h>

#include "tests/plugin/test_files.h"
#include "tests/tools/run_command.h"
#include "tests/words.h"

namespace medley::testing {
namespace {

using test::Has;

namespace fs = std::filesystem;
using test::Medley;
using test::Shell;

std::string PathOption(const std::string& fixture) { return " --plugin-path " + Fixture(fixture).string(); }

nlohmann::json FindTask(const nlohmann::json& tasks, const std::string& name) {
  for (const nlohmann::json& task : tasks) {
    if (task.at("name") == name) return task;
  }
  return nullptr;
}

TEST(TasksVerb, JsonHasTheDefaultVariantAtTopLevelAndTheOthersBelow) {
  const auto result = Shell(Medley() + "tasks --json" + PathOption("fails_to_run") + PathOption("tiny"));
  ASSERT_EQ(result.code, 0);
  const nlohmann::json tasks = nlohmann::json::parse(result.out);
  const nlohmann::json task = FindTask(tasks, "fails_to_run");
  EXPECT_EQ(task.at("passes").size(), 4u);
  EXPECT_EQ(task.at("passes")[0].at("name"), "throws_int");
  EXPECT_EQ(task.at("terms").size(), 1u);
  EXPECT_EQ(task.at("constants").size(), 5u);
  EXPECT_EQ(task.at("variants")[0].at("name"), "other");
  EXPECT_EQ(task.at("variants")[0].at("passes").size(), 1u);
  EXPECT_EQ(task.at("options")[0].at("value"), 0.5);
  EXPECT_EQ(FindTask(tasks, "tiny").at("terms")[0].at("weight"), 0.001);
  EXPECT_EQ(FindTask(tasks, "tiny").at("plugin"), fs::canonical(Fixture("tiny")).string());
  EXPECT_EQ(FindTask(tasks, "tiny").at("score").at("chance"), 0.5);
}

TEST(TasksVerb, RejectedFilesAreListedWithTheirReasonAndHideNobody) {
  const TempDirectory directory;
  WriteBytes(directory / "text.so", "text");
  fs::copy_file(Fixture("tiny"), directory / "tiny.so");
  const std::string command = Medley() + "tasks --plugin-path " + directory.path().string();
  const auto table = Shell(command);
  EXPECT_EQ(table.code, 2);  // it was named
  EXPECT_TRUE(Has(table.out, "tiny") && Has(table.out, "text.so (not a plugin): ")) << table.out;
  const auto json = Shell(command + " --json 2>/dev/null");
  EXPECT_NE(FindTask(nlohmann::json::parse(json.out), "tiny"), nullptr);
  EXPECT_TRUE(Has(Shell(command + " --json 2>&1 >/dev/null").out, "text.so (not a plugin): "));
}

std::string Screen(int columns) { return "COLUMNS=" + std::to_string(columns) + " "; }

TEST(TasksVerb, WithoutANameEachTaskIsOneLineAndWithOneAllOfItIsSaid) {
  const std::string paths = PathOption("fails_to_run") + PathOption("tiny");
  const auto all = Shell(Screen(80) + Medley() + "tasks" + paths);
  EXPECT_EQ(all.code, 0);
  EXPECT_TRUE(std::regex_search(all.out, std::regex("\ntiny +adds row numbers\n"))) << all.out;
  EXPECT_TRUE(Has(all.out, "\nfails_to_run ")) << all.out;
  EXPECT_FALSE(Has(all.out, "throws_int") || Has(all.out, "passes  ")) << all.out;
  const auto one = Shell(Medley() + "tasks fails_to_run" + paths);
  EXPECT_TRUE(Has(one.out, "throws_int") && Has(one.out, "variant other: ") &&
              Has(one.out, "fails_to_run.so"))
      << one.out;
  EXPECT_TRUE(std::regex_search(one.out, std::regex("\noption +default +allowed\n"))) << one.out;
  EXPECT_FALSE(Has(one.out, "tiny")) << one.out;
  EXPECT_EQ(nlohmann::json::parse(Shell(Medley() + "tasks tiny --json" + paths).out).at("name"), "tiny");
  const auto none = Shell(Medley() + "tasks tinny 2>&1" + paths);
  EXPECT_EQ(none.code, 2);
  EXPECT_TRUE(Has(none.out, "did you mean 'tiny'?")) << none.out;
}

// Names are never cut, and lines never longer than the screen; what they lose stands behind --wide.
TEST(TasksVerb, ALineIsAsLongAsTheScreenAndWideHasAllColumns) {
  const auto lines = [](const std::string& arguments, int columns) {
    const auto said = Shell(Screen(columns) + Medley() + "tasks" + arguments);
    EXPECT_EQ(said.code, 0) << said.out;
    std::vector<std::string> lines;
    std::istringstream text(said.out);
    for (std::string line; std::getline(text, line) && !line.empty();) lines.push_back(line);
    return lines;
  };
  const std::vector<std::string> all = lines("", 200);
  ASSERT_GE(all.size(), 22u);
  for (const int columns : {40, 60, 80}) {
    const std::vector<std::string> cut = lines("", columns);
    ASSERT_EQ(cut.size(), all.size()) << columns;
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_LE(cut[i].size(), static_cast<std::size_t>(columns)) << cut[i];
      const std::string kept = cut[i].ends_with(" ...") ? cut[i].substr(0, cut[i].size() - 4) : cut[i];
      EXPECT_TRUE(cut[i] == all[i] || (kept != cut[i] && all[i].starts_with(kept))) << cut[i];
    }
  }
  const std::vector<std::string> wide = lines(" --wide", 40);
  ASSERT_EQ(wide.size(), all.size());
  for (const char* column : {"passes", "terms", "constants", "options", "variants", "plugin"})
    EXPECT_TRUE(Has(wide[0], column)) << wide[0];
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_TRUE(wide[i].starts_with(all[i])) << wide[i];
}

TEST(TasksVerb, EveryTaskOptionAndVariantOfMedleysOwnHasAWord) {
  const auto tasks = nlohmann::json::parse(Shell(Medley() + "tasks --json").out);
  ASSERT_GE(tasks.size(), 22u);
  for (const auto& task : tasks) {
    const std::string name = task.at("name");
    EXPECT_NE(task.at("summary"), "") << name;
    EXPECT_LE(name.size() + 2 + task.at("summary").get<std::string>().size(), 80u) << name;
    for (const auto& option : task.at("options"))
      EXPECT_NE(option.at("summary"), "") << name << " " << option;
    for (const auto& variant : task.at("variants"))
      EXPECT_NE(variant.value("summary", ""), "") << name << " " << variant.at("name");
  }
}

TEST(TasksVerb, ARelativePathCountsFromTheWorkingDirectory) {
  const auto result = Shell("cd " + Fixture("tiny").parent_path().string() + " && " + Medley() +
                            "tasks tiny --plugin-path .");
  EXPECT_TRUE(Has(result.out, "adds row numbers")) << result.out;
  EXPECT_EQ(Shell(Medley() + "tasks --plugin-path '' 2>&1").code, 2);
}

// Libtorch alone would take half a second to open.
TEST(TasksVerb, OpensNoLibtorch) {
  const auto libraries = Shell("LD_DEBUG=files " + Medley() + "tasks" + PathOption("tiny") + " 2>&1");
  EXPECT_TRUE(Has(libraries.out, "libmedley_base.so"));
  EXPECT_FALSE(Has(libraries.out, "libtorch") || Has(libraries.out, "libc10") ||
               Has(libraries.out, "file=tiny"));
}

TEST(Plugin, ExportsItsEntryAndNothingElse) {
  const auto symbols = Shell("nm -D --defined-only " + Fixture("fails_to_make").string());
  EXPECT_TRUE(Has(symbols.out, " T medley_plugin_v" MEDLEY_WORDS(MEDLEY_PLUGIN_API) "\n"));
  EXPECT_EQ(std::count(symbols.out.begin(), symbols.out.end(), '\n'), 1) << symbols.out;
}

TEST(Plugin, ItsNoteIsReadByReadelf) {
  const auto notes = Shell("readelf -nW " + Fixture("tiny").string() + " 2>&1");
  EXPECT_TRUE(Has(notes.out, ".note.medley") && Has(notes.out, "  medley  ")) << notes.out;
  EXPECT_FALSE(Has(notes.out, "corrupt") || Has(notes.out, "arning"));
}

// A medley of its own in a directory, with tiny beside its library.
class Installed : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(prefix_ / "lib/medley/" MEDLEY_PLUGIN_FOLDER);
    fs::create_directories(prefix_ / "bin");
    fs::copy_file(MEDLEY_BUILD_DIR "/bin/medley", prefix_ / "bin/medley");
    fs::copy_file(MEDLEY_BUILD_DIR "/lib/libmedley_base.so", prefix_ / "lib/libmedley_base.so");
    fs::copy_file(Fixture("tiny"), plugins_ / "tiny.so");
  }
  std::string Tasks() const {
    return Shell("LD_LIBRARY_PATH=" + (prefix_ / "lib").string() + " " + (prefix_ / "bin/medley").string() +
                 " tasks")
        .out;
  }

  TempDirectory prefix_;
  fs::path plugins_ = prefix_ / "lib/medley/" MEDLEY_PLUGIN_FOLDER;
};

TEST_F(Installed, ItsPluginsAreFoundAndTrustedWhateverLiesAbove) {
  EXPECT_TRUE(Has(Tasks(), "\ntiny "));
  ASSERT_EQ(chmod(prefix_.path().c_str(), 0777), 0);  // who may replace lib/ may replace bin/medley as well
  EXPECT_TRUE(Has(Tasks(), "\ntiny "));
}

TEST_F(Installed, ItsPluginDirectoryIsRefusedWhereOthersMayWrite) {
  ASSERT_EQ(chmod(plugins_.c_str(), 0777), 0);
  const std::string tasks = Tasks();
  EXPECT_FALSE(Has(tasks, "\ntiny "));
  EXPECT_TRUE(Has(tasks, "may be written by everybody (mode 0777)")) << tasks;
  ASSERT_EQ(chmod(plugins_.c_str(), 0755), 0);
  ASSERT_EQ(chmod((plugins_ / "tiny.so").c_str(), 0666), 0);
  EXPECT_TRUE(Has(Tasks(), "tiny.so may be written by everybody"));
}

TEST_F(Installed, ItsPluginsMayBelongToWhomItsLibraryBelongs) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  for (const fs::path& path : {plugins_ / "tiny.so", plugins_, prefix_ / "lib/libmedley_base.so"}) {
    EXPECT_FALSE(Has(Tasks(), "\ntiny ") && path != plugins_ / "tiny.so") << path;
    ASSERT_EQ(chown(path.c_str(), 12345, 12345), 0);
  }
  EXPECT_TRUE(Has(Tasks(), "\ntiny ")) << Tasks();
}

// Who runs a set-uid command must not choose what code it loads.
TEST_F(Installed, ASetUidCommandIgnoresTheEnvironment) {
  if (getuid() != 0) GTEST_SKIP() << "only root can give a file away";
  const fs::path command = prefix_ / "bin/medley", home = prefix_ / "home";
  // The loader ignores $ORIGIN of such a command, so that it starts only where its library has a fixed place.
  const std::string origin = "$ORIGIN/../lib";
  std::string library = "/tmp/m" + std::to_string(getpid() % 10'000'000);
  const fs::path link = library;
  fs::remove(link);
  fs::create_symlink(prefix_ / "lib", link);
  library.resize(origin.size(), '\0');
  WriteBytes(command, Patched(ReadBytes(command), origin, library));
  fs::create_directories(home / "medley/" MEDLEY_PLUGIN_FOLDER);
  fs::copy_file(Fixture("moves_state"), home / "medley/" MEDLEY_PLUGIN_FOLDER "/moves_state.so");
  ASSERT_EQ(chmod(prefix_.path().c_str(), 0755), 0);
  const auto tasks = [&] {
    return Shell("MEDLEY_PLUGIN_PATH=" + Fixture("fails_to_run").parent_path().string() +
                 " XDG_DATA_HOME=" + home.string() + " " + command.string() + " tasks 2>&1");
  };
  const auto plain = tasks();
  EXPECT_TRUE(Has(plain.out, "moves_state") && Has(plain.out, "fails_to_run")) << plain.out;
  ASSERT_EQ(chown(command.c_str(), 12345, 12345), 0);
  ASSERT_EQ(chmod(command.c_str(), 04755), 0);
  const auto secure = tasks();
  fs::remove(link);
  EXPECT_EQ(secure.code, 0) << secure.out;
  EXPECT_TRUE(Has(secure.out, "\ntiny ")) << secure.out;  // its own
  EXPECT_FALSE(Has(secure.out, "moves_state") || Has(secure.out, "fails_to_run")) << secure.out;
}

}  // namespace
}  // namespace medley::testing
