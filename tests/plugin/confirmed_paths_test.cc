#include <medley/plugin/confirmed_paths.h>

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include <medley/base/error.h>

#include "tests/plugin/test_files.h"

namespace medley::testing {
namespace {

namespace fs = std::filesystem;

// A user whose state is a directory of the test's own.
class Confirmed : public ::testing::Test {
 protected:
  Confirmed() {
    setenv("XDG_STATE_HOME", (work_ / "state").c_str(), 1);
    fs::create_directory(work_ / "mine");
    fs::create_directory_symlink(work_ / "mine", work_ / "link");
  }
  std::vector<fs::path> Confirm(const NamedPlugins& named, const std::vector<fs::path>& of_config) const {
    return ConfirmPlugins(named, work_ / "run.json", of_config);
  }
  std::string Refusal(const NamedPlugins& named, const std::vector<fs::path>& of_config) const {
    try {
      Confirm(named, of_config);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }

  TempDirectory work_;
  const fs::path mine_ = work_ / "mine", link_ = work_ / "link";
};

TEST_F(Confirmed, WhatOnlyAConfigNamesIsRefusedWithWhatToDo) {
  const std::string words = Refusal({}, {mine_});
  for (const std::string& part :
       {std::string("run.json"), std::string("rights"), "--plugin-path " + fs::canonical(mine_).string(),
        std::string("--allow-config-plugins"), std::string("plugin-paths")})
    EXPECT_NE(words.find(part), std::string::npos) << part << '\n' << words;
  EXPECT_FALSE(fs::exists(work_ / "state"));
}

TEST_F(Confirmed, WhatWasNamedOnceCountsInConfigsByItsRealPath) {
  EXPECT_EQ(Confirm({.paths = {link_}}, {}), std::vector{link_});
  EXPECT_EQ(ReadBytes(work_ / "state/medley/plugin-paths"), fs::canonical(mine_).string() + "\n");
  EXPECT_EQ(Confirm({}, {mine_}), std::vector{mine_});
  // The link now leads to a stranger's directory.
  fs::create_directory(work_ / "other");
  fs::remove(link_);
  fs::create_directory_symlink(work_ / "other", link_);
  EXPECT_NE(Refusal({}, {link_}), "");
}

TEST_F(Confirmed, TheFlagConfirmsWhatTheConfigNamesForGood) {
  EXPECT_EQ(Refusal({.allow_config = true}, {mine_}), "");
  EXPECT_EQ(Refusal({}, {mine_}), "");
}

TEST_F(Confirmed, WhatIsNamedForOneCheckIsNotRemembered) {
  EXPECT_EQ(Refusal({.paths = {mine_}, .remember = false}, {mine_}), "");
  EXPECT_NE(Refusal({}, {mine_}), "");
}

TEST_F(Confirmed, APluginOfAConfirmedDirectoryIsConfirmedAndNotTheOtherWayRound) {
  WriteBytes(mine_ / "a.so", "");
  EXPECT_EQ(Refusal({.paths = {mine_ / "a.so"}}, {mine_ / "a.so"}), "");
  EXPECT_NE(Refusal({}, {mine_}), "");
  EXPECT_EQ(Refusal({.paths = {mine_}}, {}), "");
  WriteBytes(mine_ / "b.so", "");
  EXPECT_EQ(Refusal({}, {mine_ / "b.so"}), "");
}

TEST_F(Confirmed, WhatTheEnvironmentNamesNeedsNoWord) {
  setenv("MEDLEY_PLUGIN_PATH", mine_.c_str(), 1);
  EXPECT_EQ(Refusal({}, {link_}), "");
  unsetenv("MEDLEY_PLUGIN_PATH");
  EXPECT_NE(Refusal({}, {link_}), "");
}

TEST_F(Confirmed, AFileThatOthersMayWriteConfirmsNothing) {
  Confirm({.paths = {mine_}}, {});
  const fs::path file = work_ / "state/medley/plugin-paths";
  ASSERT_EQ(chmod(file.c_str(), 0666), 0);
  const std::string words = Refusal({}, {mine_}), before = ReadBytes(file);
  EXPECT_NE(words.find("is not read: " + fs::canonical(file).string() + " may be written"), std::string::npos)
      << words;
  Confirm({.paths = {work_.path()}}, {});
  EXPECT_EQ(ReadBytes(file), before);
}

TEST_F(Confirmed, WhatIsRememberedIsReadAgainWhateverTheUmask) {
  const mode_t before = umask(0);
  Confirm({.paths = {mine_}}, {});
  umask(before);
  EXPECT_EQ(Refusal({}, {mine_}), "");
}

TEST_F(Confirmed, WhatDoesNotExistBringsNoCode) { EXPECT_EQ(Refusal({}, {work_ / "nowhere"}), ""); }

}  // namespace
}  // namespace medley::testing
