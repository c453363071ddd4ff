#include <medley/train/event_command.h>

#include <gtest/gtest.h>

#include <medley/base/error.h>

#include "tests/train/on_event.h"
#include "tests/words.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using test::Has;
using Command = std::vector<std::string>;

class EventCommands : public ::testing::Test {
 protected:
  std::string Refusal(const Command& on_event, const EventWord& word = {}) const {
    return test::MessageOf<InputError>([&] { ConfirmOnEvent(on_event, scratch_ / "run.json", word); });
  }

  ScratchDirectory scratch_;
  const test::FreshState state_{scratch_ / "state"};
  const fs::path script_ = test::WriteScript(scratch_ / "tell", "exit 0");
  const Command command_ = {script_.string(), "two words"};
  const EventWord allowed_ = {.allow_config = true};
};

TEST_F(EventCommands, WhatOnlyAConfigNamesIsRefusedWithWhatToDo) {
  const std::string words = Refusal(command_);
  for (const std::string& part :
       {std::string("run.json: on_event names a program that you have not confirmed"), std::string("rights"),
        script_.string() + " 'two words'\n", std::string("--allow-on-event"),
        "'on_event=[\"" + script_.string() + "\",\"two words\"]'", std::string("on-event-programs"),
        std::string("on_event=[] runs none")})
    EXPECT_TRUE(Has(words, part)) << part << '\n' << words;
  EXPECT_FALSE(fs::exists(scratch_ / "state"));
}

TEST_F(EventCommands, ThereMayBeNone) {
  EXPECT_TRUE(ConfirmOnEvent({}, "run.json", {}).empty());
  EXPECT_TRUE(ConfirmOnEvent({}, "run.json", allowed_).empty());
  EXPECT_FALSE(fs::exists(scratch_ / "state"));
}

TEST_F(EventCommands, TheFlagAndTheCommandLineAreTheUsersWordForGood) {
  EXPECT_EQ(ConfirmOnEvent(command_, "run.json", allowed_), command_);
  EXPECT_EQ(ConfirmOnEvent(command_, "other.json", {}), command_);
  const Command own = {script_.string()};
  EXPECT_NE(Refusal(own, {.overrides = {"on_event.1=x", "seed=1", "comment=on_event="}}), "");
  EXPECT_EQ(Refusal(own, {.overrides = {"on_event=[]"}}), "");
  EXPECT_EQ(Refusal(own), "");
}

// Else a shell that was confirmed once would run what any config says.
TEST_F(EventCommands, OtherArgumentsAreAnotherCommand) {
  EXPECT_EQ(Refusal({"sh", "-c", "exit 0"}, allowed_), "");
  EXPECT_EQ(Refusal({"sh", "-c", "exit 0"}), "");
  EXPECT_NE(Refusal({"sh", "-c", "exit 1"}), "");
  EXPECT_NE(Refusal({"sh"}), "");
  EXPECT_NE(Refusal({"sh", "-c exit", "0"}), "");
}

TEST_F(EventCommands, ARememberedLinkThatLeadsElsewhereIsAskedForAgain) {
  const fs::path link = scratch_ / "link";
  fs::create_symlink(script_, link);
  EXPECT_EQ(ConfirmOnEvent({link.string()}, "run.json", allowed_), Command{link.string()})
      << "it runs by its own place, as interpreters want";
  EXPECT_EQ(Refusal({link.string()}), "");
  fs::remove(link);
  fs::create_symlink(test::WriteScript(scratch_ / "other", "exit 1"), link);
  EXPECT_NE(Refusal({link.string()}), "");
}

TEST_F(EventCommands, AFileThatAnArgumentNamesIsConfirmedByItsPlace) {
  const fs::path before = fs::current_path();
  for (const char* place : {"mine", "theirs"}) {
    fs::create_directory(scratch_ / place);
    WriteText(scratch_ / place / "tell.py", "");
  }
  fs::current_path(scratch_ / "mine");
  EXPECT_EQ(Refusal({"sh", "tell.py"}, allowed_), "");
  EXPECT_EQ(Refusal({"sh", "tell.py"}), "");
  fs::current_path(scratch_ / "theirs");
  EXPECT_NE(Refusal({"sh", "tell.py"}), "");
  fs::current_path(before);
}

TEST_F(EventCommands, WhatCannotBeRunIsRefusedWhoeverNamesIt) {
  fs::permissions(script_, fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_TRUE(Has(Refusal(command_, allowed_), "is not executable: chmod +x"));
  fs::remove(script_);
  EXPECT_TRUE(Has(Refusal(command_, allowed_), "no such file")) << Refusal(command_, allowed_);
  EXPECT_TRUE(Has(Refusal({scratch_.path().string()}, allowed_), "on_event: "));
  EXPECT_TRUE(
      Has(Refusal({"no-such-program"}, allowed_), "no directory of PATH has a program 'no-such-program'"));
  EXPECT_FALSE(fs::exists(scratch_ / "state"));
}

}  // namespace
}  // namespace medley
