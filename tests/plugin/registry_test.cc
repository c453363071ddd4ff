#include <gtest/gtest.h>
#include <medley/base/error.h>
#include <medley/base/printable.h>
#include <medley/base/version.h>
#include <medley/plugin/registry.h>
#include <medley/plugin/trust.h>
#include <medley/task/abi.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/environment.h"
#include "tests/plugin/test_files.h"
#include "tests/words.h"

namespace medley::testing {
namespace {

using test::Environment;
using test::Has;
using test::MessageOf;

namespace fs = std::filesystem;

// A plugin like tiny with another task, of the same length.
void WriteTiny(const fs::path& path, std::string_view task) {
  WriteBytes(path, Patched(ReadBytes(Fixture("tiny")), "\"name\":\"tiny\"",
                           "\"name\":\"" + std::string(task) + "\""));
}

TEST(Registry, ListsTasksInAlphabeticalOrderWithoutRunningAnything) {
  const TempDirectory directory;
  WriteTiny(directory / "one.so", "wwww");
  WriteTiny(directory / "two.so", "aaaa");
  WriteBytes(directory / "notes.txt", "not looked at");
  const Registry registry = ScanOnly({directory.path()});
  ASSERT_EQ(registry.tasks().size(), 2u);
  EXPECT_EQ(registry.tasks()[0]->name, "aaaa");
  EXPECT_EQ(registry.FileOf("wwww").path, fs::canonical(directory / "one.so"));
  EXPECT_TRUE(registry.rejected().empty());
}

TEST(Registry, TheFirstDirectoryWinsAndTheOtherIsShadowed) {
  const TempDirectory first, second;
  WriteTiny(first / "x.so", "aaaa");
  WriteTiny(second / "y.so", "aaaa");
  const Registry registry = ScanOnly({first.path(), second.path()});
  EXPECT_EQ(registry.FileOf("aaaa").path, fs::canonical(first / "x.so"));
  EXPECT_TRUE(registry.rejected().empty());
  ASSERT_EQ(registry.shadowed().size(), 1u);
  EXPECT_EQ(registry.shadowed()[0].used, fs::canonical(first / "x.so"));
  EXPECT_EQ(registry.shadowed()[0].other, fs::canonical(second / "y.so"));
  ASSERT_EQ(registry.Choices({"aaaa"}).size(), 1u);
  EXPECT_TRUE(Has(registry.Choices({"aaaa"})[0], "the task aaaa comes from " + (first / "x.so").string()));
  EXPECT_TRUE(registry.Choices({"bbbb"}).empty());
  registry.RequireNamed();
}

TEST(Registry, WhatWasNamedAndCannotBeUsedIsAnError) {
  const TempDirectory named, user;
  WriteTiny(named / "good.so", "aaaa");
  WriteBytes(named / "libhelper.so", ReadBytes(MEDLEY_BUILD_DIR "/lib/libmedley_base.so"));
  ScanOnly({named.path()}).RequireNamed();  // a plugin may bring libraries of its own
  WriteBytes(named / "cut.so", ReadBytes(named / "good.so").substr(0, 1000));
  std::string message = MessageOf([&] { ScanOnly({named.path()}).RequireNamed(); });
  EXPECT_TRUE(Has(message, "cut.so") && Has(message, "truncated") && Has(message, "--plugin-path"))
      << message;
  EXPECT_FALSE(Has(message, "libhelper.so")) << message;
  message = MessageOf([&] { ScanOnly({named / "libhelper.so"}).RequireNamed(); });
  EXPECT_TRUE(Has(message, "without a medley note")) << message;
  message = MessageOf([&] { ScanOnly({named / "nowhere"}).RequireNamed(); });
  EXPECT_TRUE(Has(message, "nowhere") && Has(message, "missing")) << message;
  fs::permissions(named.path(), fs::perms::others_write, fs::perm_options::add);
  message = MessageOf([&] { ScanOnly({named.path()}).RequireNamed(); });
  EXPECT_TRUE(Has(message, "bad permissions")) << message;
  // What nobody named is passed over.
  fs::create_directories(user / "medley/" MEDLEY_PLUGIN_FOLDER);
  WriteBytes(user / "medley/" MEDLEY_PLUGIN_FOLDER "/cut.so", "x");
  const Environment set("XDG_DATA_HOME", user.path().string());
  const Registry registry = Registry::Scan({{}, false, true, false});
  EXPECT_EQ(registry.rejected().size(), 1u);
  registry.RequireNamed();
}

TEST(Registry, OneTaskTwiceInADirectoryNamesBothFiles) {
  const TempDirectory directory;
  WriteTiny(directory / "x.so", "aaaa");
  WriteTiny(directory / "y.so", "aaaa");
  const std::string message = MessageOf([&] { ScanOnly({directory.path()}); });
  EXPECT_TRUE(Has(message, "x.so") && Has(message, "y.so") && Has(message, "'aaaa'")) << message;
}

TEST(Registry, OneFileThroughTwoNamesIsOnePlugin) {
  const TempDirectory directory;
  WriteTiny(directory / "x.so", "aaaa");
  fs::create_symlink("x.so", directory / "link.so");
  fs::create_hard_link(directory / "x.so", directory / "z.so");
  const Registry registry = ScanOnly({directory.path(), directory.path()});
  EXPECT_EQ(registry.files().size(), 1u);
  EXPECT_TRUE(registry.rejected().empty());
}

TEST(Registry, AnUnknownTaskSuggestsAndSaysWhereItLooked) {
  const TempDirectory directory;
  WriteTiny(directory / "x.so", "zoom");
  const Registry registry = ScanOnly({directory.path()});
  const std::string message = MessageOf([&] { registry.Require("zomo"); });
  EXPECT_TRUE(Has(message, "'zomo'") && Has(message, "did you mean 'zoom'") &&
              Has(message, directory.path().string()))
      << message;
  EXPECT_THROW(registry.FileOf("zomo"), InputError);
  EXPECT_EQ(registry.Find("zomo"), nullptr);
}

TEST(Registry, AFurtherNameIsATaskOfItsOwnWithTheKindsFile) {
  const TempDirectory first, second;
  WriteTiny(first / "x.so", "mmmm");
  WriteTiny(second / "y.so", "mmmm");
  Registry registry = ScanOnly({first.path(), second.path()});
  const TaskInfo* before = registry.Find("mmmm");
  registry.GiveNames({{"aaaa", "mmmm"}, {"none", "nnnn"}});
  ASSERT_EQ(registry.tasks().size(), 2U);
  EXPECT_EQ(registry.tasks()[0]->name, "aaaa");
  EXPECT_EQ(registry.Find("mmmm"), before);
  EXPECT_EQ(registry.Require("aaaa").summary, before->summary);
  EXPECT_EQ(&registry.FileOf("aaaa"), &registry.FileOf("mmmm"));
  EXPECT_EQ(registry.KindsOf({"aaaa", "mmmm"}), (std::vector<std::string>{"mmmm", "mmmm"}));
  EXPECT_TRUE(registry.IsKind("mmmm") && !registry.IsKind("aaaa") && registry.Find("none") == nullptr);
  EXPECT_TRUE(registry.HasFurtherNames("mmmm") && !registry.HasFurtherNames("aaaa"));
  ASSERT_EQ(registry.Choices({"aaaa"}).size(), 1U);
  // What was handed out lives on where the registry moves.
  const TaskInfo* named = registry.Find("aaaa");
  const Registry moved = std::move(registry);
  EXPECT_EQ(moved.Find("aaaa"), named);
}

TEST(Registry, PathsOfTheEnvironmentMustBeAbsolute) {
  const TempDirectory directory;
  WriteTiny(directory / "x.so", "aaaa");
  const PluginSearch search{{}, true, false, false};
  {
    const Environment set("MEDLEY_PLUGIN_PATH", directory.path().string() + ":/none");
    const Registry registry = Registry::Scan(search);
    EXPECT_NE(registry.Find("aaaa"), nullptr);
    EXPECT_EQ(registry.rejected().at(0).state, "missing");
  }
  const std::string there = directory.path().string();
  for (const std::string& value : {there + ":", ":" + there, there + "::" + there}) {
    const Environment set("MEDLEY_PLUGIN_PATH", value);
    const Registry registry = Registry::Scan(search);
    EXPECT_NE(registry.Find("aaaa"), nullptr) << value;
    EXPECT_TRUE(registry.rejected().empty()) << value << ": nothing between two colons is no path";
  }
  for (const std::string value : {"plugins", ".", "/tmp:plugins"}) {
    const Environment set("MEDLEY_PLUGIN_PATH", value);
    EXPECT_THROW(Registry::Scan(search), InputError) << value;
  }
  EXPECT_THROW(ScanOnly({"plugins"}), InputError);
}

TEST(Registry, LooksInTheUsersDirectory) {
  const TempDirectory data;
  fs::create_directories(data / "medley/" MEDLEY_PLUGIN_FOLDER);
  WriteTiny(data / "medley/" MEDLEY_PLUGIN_FOLDER "/x.so", "aaaa");
  const Environment set("XDG_DATA_HOME", data.path().string());
  EXPECT_NE(Registry::Scan({{}, false, true, false}).Find("aaaa"), nullptr);
  EXPECT_EQ(Registry::Scan({{}, false, false, false}).Find("aaaa"), nullptr);
}

TEST(Registry, NeverLooksInTheWorkingDirectory) {
  const TempDirectory directory;
  WriteTiny(directory / "x.so", "aaaa");
  const fs::path before = fs::current_path();
  fs::current_path(directory.path());
  const Registry registry = Registry::Scan({});
  fs::current_path(before);
  EXPECT_EQ(registry.Find("aaaa"), nullptr);
}

TEST(Trust, WhatStrangersMayWriteIsRefused) {
  const TempDirectory directory;
  WriteTiny(directory / "x.so", "aaaa");
  const auto verdict = [&] {
    const Registry registry = ScanOnly({directory.path()});
    EXPECT_EQ(registry.Find("aaaa") == nullptr, !registry.rejected().empty());
    return registry.rejected().empty() ? ""
                                       : registry.rejected()[0].state + ": " + registry.rejected()[0].reason;
  };
  EXPECT_EQ(verdict(), "");
  for (const mode_t mode : {0666, 0662, 0777}) {
    ASSERT_EQ(chmod((directory / "x.so").c_str(), mode), 0);
    EXPECT_TRUE(Has(verdict(), "bad permissions: ") && Has(verdict(), "x.so may be written by")) << verdict();
  }
  ASSERT_EQ(chmod((directory / "x.so").c_str(), 0644), 0);
  EXPECT_EQ(verdict(), "");
  for (const mode_t mode : {0777, 0772, 01777}) {
    ASSERT_EQ(chmod(directory.path().c_str(), mode), 0);
    EXPECT_TRUE(Has(verdict(), "bad permissions: ")) << verdict();
  }
}

TEST(Trust, EveryFolderToCloseIsNamedAtOnce) {
  const TempDirectory parent;
  fs::create_directory(parent / "plugins");
  WriteTiny(parent / "plugins/x.so", "aaaa");
  for (const fs::path& path : {parent.path(), parent / "plugins", parent / "plugins/x.so"})
    ASSERT_EQ(chmod(path.c_str(), 0777), 0);
  const std::string reason = ScanOnly({parent / "plugins/x.so"}).rejected().at(0).reason;
  const std::string real = fs::canonical(parent.path()).string();
  EXPECT_TRUE(Has(reason, "chmod go-w " + real + "/plugins/x.so " + real + "/plugins " + real)) << reason;
}

// As daemon: a user that every system has, with a group of its own.
TEST(Trust, AGroupThatTheOwnerIsAloneInMayWrite) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  constexpr uid_t kDaemon = 1;
  constexpr gid_t kItsOwn = 1;
  ASSERT_TRUE(IsPrivateGroup(kItsOwn, kDaemon));
  EXPECT_FALSE(IsPrivateGroup(kItsOwn + 1, kDaemon));
  EXPECT_FALSE(IsPrivateGroup(0, 0));
  const TempDirectory directory;
  WriteTiny(directory / "x.so", "aaaa");
  const auto is_found = [&](gid_t group) {
    for (const fs::path& path : {directory.path(), directory / "x.so"}) {
      if (chown(path.c_str(), kDaemon, group) != 0 || chmod(path.c_str(), 0775) != 0) return false;
    }
    const pid_t child = fork();
    if (child == 0) {
      if (setgid(kItsOwn) != 0 || setuid(kDaemon) != 0) _exit(2);
      _exit(ScanOnly({directory.path()}).Find("aaaa") != nullptr ? 0 : 1);
    }
    int status = 0;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  };
  EXPECT_TRUE(is_found(kItsOwn));
  EXPECT_FALSE(is_found(kItsOwn + 1));
}

TEST(Trust, AParentThatStrangersMayWriteIsRefused) {
  const TempDirectory parent;
  fs::create_directory(parent / "plugins");
  WriteTiny(parent / "plugins/x.so", "aaaa");
  ASSERT_EQ(chmod(parent.path().c_str(), 0777), 0);
  EXPECT_EQ(ScanOnly({parent / "plugins"}).rejected().at(0).state, "bad permissions");
  ASSERT_EQ(chmod(parent.path().c_str(), 01777), 0);  // like /tmp: strangers cannot replace what is ours
  EXPECT_NE(ScanOnly({parent / "plugins"}).Find("aaaa"), nullptr);
}

TEST(Trust, ALinkIsJudgedByWhatItLeadsTo) {
  const TempDirectory good, bad;
  WriteTiny(bad / "x.so", "aaaa");
  ASSERT_EQ(chmod(bad.path().c_str(), 0777), 0);
  fs::create_symlink(bad / "x.so", good / "x.so");
  EXPECT_EQ(ScanOnly({good.path()}).rejected().at(0).state, "bad permissions");
}

TEST(Trust, AStrangersFileIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  const TempDirectory directory;
  WriteTiny(directory / "x.so", "aaaa");
  ASSERT_EQ(chown((directory / "x.so").c_str(), 12345, 12345), 0);
  const Registry registry = ScanOnly({directory.path()});
  EXPECT_TRUE(Has(registry.rejected().at(0).reason, "belongs to user 12345"))
      << registry.rejected().at(0).reason;
}

TEST(Abi, AllDifferencesStandInOneMessageWithBothSides) {
  const TempDirectory directory;
  const std::string version(Torch().version.substr(0, Torch().version.find('+')));
  const std::string other = "9" + version.substr(1);
  const std::string tiny = ReadBytes(Fixture("tiny"));
  WriteBytes(directory / "x.so", Patched(Patched(tiny, "\"torch\":\"" + version, "\"torch\":\"" + other),
                                         "\"glibcxx_debug\":false", "\"glibcxx_debug\":true "));
  const Registry registry = ScanOnly({directory.path()});
  ASSERT_EQ(registry.rejected().size(), 1u);
  EXPECT_EQ(registry.rejected()[0].state, "bad abi");
  const std::string& reason = registry.rejected()[0].reason;
  EXPECT_TRUE(Has(reason, "libtorch " + other) && Has(reason, "libtorch " + version) &&
              Has(reason, "_GLIBCXX_DEBUG on") && Has(reason, "Rebuild"))
      << reason;
}

TEST(Abi, AnotherCompilersPluginIsUsed) {
  const TempDirectory directory;
  const std::string compiler(detail::kCompiler);
  WriteBytes(directory / "x.so", Patched(ReadBytes(Fixture("tiny")), "\"compiler\":\"" + compiler,
                                         "\"compiler\":\"C" + compiler.substr(1)));
  EXPECT_EQ(ScanOnly({directory.path()}).tasks().size(), 1U);
}

TEST(Abi, AnotherStandardLibraryIsRefused) {
  const TempDirectory directory;
  WriteBytes(directory / "x.so", Patched(ReadBytes(Fixture("tiny")), "libstdc++", "libc++   "));
  const RejectedPlugin rejected = ScanOnly({directory.path()}).rejected().at(0);
  EXPECT_EQ(rejected.state, "bad abi");
  EXPECT_TRUE(Has(rejected.reason, "the standard library libc++")) << rejected.reason;
}

TEST(Abi, OtherHeadersAreRefused) {
  const TempDirectory directory;
  const std::string digest = MEDLEY_HEADERS_DIGEST, other = (digest[0] == '0' ? "1" : "0") + digest.substr(1);
  WriteBytes(directory / "x.so", Patched(ReadBytes(Fixture("tiny")), digest, other));
  const RejectedPlugin rejected = ScanOnly({directory.path()}).rejected().at(0);
  EXPECT_EQ(rejected.state, "bad abi");
  EXPECT_TRUE(Has(rejected.reason, "was built against other headers") && Has(rejected.reason, other) &&
              Has(rejected.reason, digest) && Has(rejected.reason, "Rebuild"))
      << rejected.reason;
}

// Whatever else it has, which may have another form.
TEST(Abi, AnotherApiIsRefusedBeforeItsSpecIsRead) {
  const TempDirectory directory;
  const std::string api = "\"api\":" MEDLEY_WORDS(MEDLEY_PLUGIN_API);
  std::string bytes = Patched(ReadBytes(Fixture("tiny")), api, "\"api\":9");
  WriteBytes(directory / "x.so",
             Patched(Patched(bytes, "\"passes\"", "\"phases\""), "\"headers\"", "\"footers\""));
  const RejectedPlugin rejected = ScanOnly({directory.path()}).rejected().at(0);
  EXPECT_EQ(rejected.state, "bad abi");
  EXPECT_TRUE(
      Has(rejected.reason, "plugin API 9; this medley uses plugin API " MEDLEY_WORDS(MEDLEY_PLUGIN_API)))
      << rejected.reason;
}

TEST(Abi, AnOlderApiAndTheOldStringsAreRefused) {
  const TempDirectory directory;
  const std::string api = "\"api\":" MEDLEY_WORDS(MEDLEY_PLUGIN_API);
  WriteBytes(directory / "old.so", Patched(ReadBytes(Fixture("tiny")), api, "\"api\":1"));
  WriteBytes(directory / "strings.so",
             Patched(ReadBytes(Fixture("tiny")), "\"name\":\"tiny\"", "\"name\":\"tony\""));
  WriteBytes(directory / "strings.so",
             Patched(ReadBytes(directory / "strings.so"), "\"cxx11\":1", "\"cxx11\":0"));
  const Registry registry = ScanOnly({directory.path()});
  ASSERT_EQ(registry.rejected().size(), 2U);
  EXPECT_TRUE(Has(registry.rejected()[0].reason, "plugin API 1; this medley uses"))
      << registry.rejected()[0].reason;
  EXPECT_TRUE(Has(registry.rejected()[1].reason, "_GLIBCXX_USE_CXX11_ABI")) << registry.rejected()[1].reason;
}

TEST(Abi, APluginBuiltForDebuggingIsUsed) {
  EXPECT_EQ(ScanOnly({Fixture("debug_build")}).tasks().size(), 1U);
}

TEST(Printables, ControlCharactersOfANoteAreEscaped) {
  const TempDirectory directory;
  WriteBytes(directory / "x.so",
             Patched(ReadBytes(Fixture("tiny")), "adds row numbers", "adds\\u001b[2J n."));
  const Registry registry = ScanOnly({directory.path()});
  ASSERT_EQ(registry.tasks().size(), 1U);
  EXPECT_EQ(Printable(registry.tasks()[0]->summary), "adds\\x1b[2J n.");
}

}  // namespace
}  // namespace medley::testing
