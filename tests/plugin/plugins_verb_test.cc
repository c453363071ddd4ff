// What the command says of plugin files: all of them, whatever their state, and without running any.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/run/plugin_lock.h>

#include "tests/plugin/test_files.h"
#include "tests/tools/run_command.h"

namespace medley::testing {
namespace {

namespace fs = std::filesystem;
using test::Has;
using test::Medley;
using test::Shell;

// As one that was built with other containers.
void WriteOther(const fs::path& file) {
  WriteBytes(file, Patched(ReadBytes(Fixture("tiny")), "\"glibcxx_debug\":false", "\"glibcxx_debug\":true "));
}

nlohmann::json List(const std::string& arguments) {
  return nlohmann::json::parse(Shell(Medley() + "plugins list --json" + arguments + " 2>/dev/null").out);
}

nlohmann::json Of(const nlohmann::json& list, const fs::path& path) {
  for (const nlohmann::json& plugin : list.at("plugins")) {
    if (plugin.at("path") == path.string()) return plugin;
  }
  return {{"state", "not listed"}, {"reason", path.string()}};
}

TEST(PluginsList, EveryFileHasItsStateAndOneNeverHidesAnother) {
  const TempDirectory directory;
  const fs::path real = fs::canonical(directory.path());
  fs::copy_file(Fixture("tiny"), directory / "tiny.so");
  fs::copy_file(Fixture("tiny"), directory / "twice.so");
  WriteOther(directory / "other.so");
  fs::copy_file(Fixture("moves_state"), directory / "open.so");
  ASSERT_EQ(chmod((directory / "open.so").c_str(), 0666), 0);
  fs::create_symlink("nowhere.so", directory / "dangling.so");
  WriteBytes(directory / "text.so", "text");
  WriteBytes(directory / "cut.so", ReadBytes(Fixture("tiny")).substr(0, 5000));
  const nlohmann::json list = List(" --plugin-path " + directory.path().string());
  EXPECT_EQ(Of(list, real / "tiny.so").at("state"), "name twice");
  EXPECT_EQ(Of(list, real / "tiny.so").at("tasks"), nlohmann::json({"tiny"}));
  EXPECT_EQ(Of(list, real / "twice.so").at("state"), "name twice");
  EXPECT_EQ(Of(list, real / "other.so").at("state"), "bad abi");
  EXPECT_EQ(Of(list, real / "open.so").at("state"), "bad permissions");
  EXPECT_EQ(Of(list, real / "dangling.so").at("state"), "missing");
  EXPECT_EQ(Of(list, real / "text.so").at("state"), "not a plugin");
  EXPECT_EQ(Of(list, real / "cut.so").at("state"), "truncated");
  EXPECT_EQ(list.at("searched").at(0), directory.path().string());
  for (const nlohmann::json& plugin : list.at("plugins"))
    EXPECT_EQ(plugin.at("reason").get<std::string>().empty(), plugin.at("state") == "ok") << plugin;
}

TEST(PluginsLock, HoldsTheLibrariesBesideAPluginToo) {
  const TempDirectory directory;
  const fs::path plugin = directory / "needs_a_library.so", library = directory / "libbeside.so";
  fs::copy_file(Fixture("needs_a_library"), plugin);
  fs::copy_file(Fixture("needs_a_library").parent_path() / "libbeside.so", library);
  const Registry registry = ScanOnly({directory.path()});
  const std::vector<const PluginFile*> files = PluginsInUse({"needs_a_library"}, nullptr, registry);
  ASSERT_EQ(files.size(), 1U);
  const fs::path lock = directory / "plugins.lock";
  nlohmann::ordered_json locked = LockOf(files);
  EXPECT_EQ(locked.at("plugins").at(0).at("libraries").at("libbeside.so").get<std::string>().size(), 64U);
  const auto refusal = [&] {
    WriteBytes(lock, locked.dump());
    return test::MessageOf<InputError>([&] { RequireLocked(lock, files); });
  };
  EXPECT_EQ(refusal(), "");
  WriteBytes(library, ReadBytes(library) + "more");
  EXPECT_TRUE(Has(refusal(), "libbeside.so, which needs_a_library.so loads: expected SHA-256 ")) << refusal();
  fs::remove(library);
  EXPECT_TRUE(Has(refusal(), ", found none")) << refusal();
  locked["plugins"][0].erase("libraries");
  EXPECT_EQ(refusal(), "") << "a lock of an older medley";
}

TEST(PluginsList, AnEarlierDirectoryShadowsALaterOne) {
  const TempDirectory first, second;
  fs::copy_file(Fixture("tiny"), first / "a.so");
  fs::copy_file(Fixture("tiny"), second / "b.so");
  fs::create_symlink(first / "a.so", second / "again.so");
  const std::string paths =
      " --plugin-path " + first.path().string() + " --plugin-path " + second.path().string();
  const nlohmann::json list = List(paths);
  EXPECT_EQ(Of(list, fs::canonical(first / "a.so")).at("state"), "ok");
  const nlohmann::json other = Of(list, fs::canonical(second / "b.so"));
  EXPECT_EQ(other.at("state"), "shadowed");
  EXPECT_EQ(other.at("reason"), "task tiny comes from " + fs::canonical(first / "a.so").string());
  const auto text = Shell(Medley() + "plugins list" + paths);
  EXPECT_EQ(text.code, 0);
  EXPECT_TRUE(Has(text.out, "b.so (shadowed): task tiny comes from")) << text.out;
  EXPECT_TRUE(Has(text.out, "same file")) << text.out;
  EXPECT_TRUE(Has(text.out, "Searched; the first that has a name gives it:\n  " + first.path().string()))
      << text.out;
}

TEST(PluginsList, WhatWasNamedAndCannotBeUsedIsTheExitCode) {
  const TempDirectory directory;
  const auto listed = Shell(Medley() + "plugins list --plugin-path " + (directory / "nowhere").string());
  EXPECT_EQ(listed.code, 2);
  EXPECT_TRUE(Has(listed.out, "nowhere (missing): ")) << listed.out;
}

TEST(PluginsShow, SaysWhatANoteHoldsAndRunsNothing) {
  const fs::path landmine = Fixture("aborts_at_load");
  const auto text = Shell(Medley() + "plugins show " + landmine.string() + " 2>&1");
  EXPECT_EQ(text.code, 0) << text.out;
  EXPECT_TRUE(Has(text.out, "task aborts_at_load") && Has(text.out, "libtorch 2.")) << text.out;
  const auto json = Shell(Medley() + "plugins show --json " + Fixture("series").string());
  const nlohmann::json shown = nlohmann::json::parse(json.out);
  EXPECT_FALSE(shown.at("tasks").empty());
  EXPECT_FALSE(shown.at("models").empty());
  EXPECT_EQ(shown.at("abi").at("kind"), "c++");
  const auto named = Shell(Medley() + "plugins show tiny --plugin-path " + Fixture("tiny").string());
  EXPECT_TRUE(Has(named.out, "adds row numbers")) << named.out;
}

TEST(PluginsShow, FindsAFileByItsNameATaskOrAModel) {
  const std::string path = " --json --plugin-path " + Fixture("series").string();
  for (const char* name : {"series", "trend", "series_net"}) {
    const auto shown = Shell(Medley() + "plugins show " + name + path);
    ASSERT_EQ(shown.code, 0) << name;
    EXPECT_EQ(nlohmann::json::parse(shown.out).at("path"), fs::canonical(Fixture("series")).string());
  }
  const auto near = Shell(Medley() + "plugins show trent" + path + " 2>&1");
  EXPECT_EQ(near.code, 2);
  EXPECT_TRUE(Has(near.out, "did you mean 'trend'?")) << near.out;
}

TEST(PluginsShow, SaysWhatAPluginOfAnotherAbiWasBuiltFor) {
  const TempDirectory directory;
  WriteOther(directory / "other.so");
  const auto other = Shell(Medley() + "plugins show " + (directory / "other.so").string() + " 2>&1");
  EXPECT_EQ(other.code, 0);
  EXPECT_TRUE(Has(other.out, "bad abi: was built for") && Has(other.out, "built by")) << other.out;
}

TEST(PluginsShow, AFileWithoutANoteIsRefused) {
  const auto missing = Shell(Medley() + "plugins show ./nowhere.so 2>&1");
  EXPECT_EQ(missing.code, 2);
  EXPECT_TRUE(Has(missing.out, "nowhere.so cannot be read")) << missing.out;
  const TempDirectory directory;
  WriteBytes(directory / "text.so", "text");
  const auto text = Shell(Medley() + "plugins show " + (directory / "text.so").string() + " 2>&1");
  EXPECT_EQ(text.code, 2);
  EXPECT_TRUE(Has(text.out, "text.so (not a plugin)")) << text.out;
}

// For use after linking: silent where all is well, and where a file lies is no matter of its note.
TEST(PluginsShow, VerifyRefusesWhatCouldNotBeLoaded) {
  const TempDirectory directory;
  WriteOther(directory / "other.so");
  WriteBytes(directory / "text.so", "text");
  WriteBytes(directory / "half.so", ReadBytes(Fixture("tiny")).substr(0, 5000));
  fs::copy_file(Fixture("tiny"), directory / "open.so");
  ASSERT_EQ(chmod((directory / "open.so").c_str(), 0666), 0);
  const std::string verify = Medley() + "plugins show --verify ";
  const auto right = Shell(verify + Fixture("tiny").string() + " 2>&1");
  EXPECT_EQ(right.code, 0);
  EXPECT_EQ(right.out, "");
  for (const std::string file : {"other.so", "text.so", "half.so"}) {
    const auto refused = Shell(verify + (directory / file).string() + " 2>&1");
    EXPECT_EQ(refused.code, 2) << file;
    EXPECT_TRUE(Has(refused.out, file + " (")) << refused.out;
  }
  const auto open = Shell(verify + (directory / "open.so").string() + " 2>&1");
  EXPECT_EQ(open.code, 0) << open.out;
  EXPECT_TRUE(Has(open.out, "would not load it where it lies")) << open.out;
}

TEST(PluginsList, OpensNoLibtorch) {
  const auto libraries = Shell("LD_DEBUG=files " + Medley() + "plugins list --plugin-path " +
                               Fixture("tiny").string() + " 2>&1");
  EXPECT_TRUE(Has(libraries.out, "libmedley_base.so"));
  EXPECT_FALSE(Has(libraries.out, "libtorch") || Has(libraries.out, "libc10") ||
               Has(libraries.out, "file=tiny"));
}

}  // namespace
}  // namespace medley::testing
