// What every verb does with what it is given on the command line, and with an output that cannot be written.
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/report/scratch_directory.h"
#include "tests/tools/run_command.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using test::CommandResult;
using test::Has;
using test::Medley;
using test::Shell;

const std::string kQuickstart = MEDLEY_SOURCE_DIR "/configs/runs/quickstart.json";

void ExpectRefused(const std::string& arguments, const std::string& words) {
  const CommandResult result = Shell(Medley() + arguments + " 2>&1");
  EXPECT_EQ(result.code, 2) << arguments << ": " << result.out;
  EXPECT_TRUE(Has(result.out, words)) << arguments << ": " << result.out;
  EXPECT_LT(result.out.size(), 800u) << arguments << ": " << result.out;
}

TEST(Arguments, AMistypedVerbOrFlagGetsASuggestion) {
  ExpectRefused("trian", "no such verb: 'trian'; did you mean 'train'?");
  ExpectRefused("version --jsn", "no such flag: '--jsn'; did you mean '--json'?");
  ExpectRefused("train " + kQuickstart + " --buget 3GiB",
                "no such flag: '--buget'; did you mean '--budget'?");
  ExpectRefused("tokenizer train --corps x --corpus x --out y",
                "no such flag: '--corps'; did you mean '--corpus'?");
}

TEST(Arguments, ANumberThatIsNoneIsNamedWithItsRange) {
  ExpectRefused("resume R --steps abc",
                "--steps: expected a whole number from 1 to 9007199254740991, found 'abc'");
  ExpectRefused("resume R --steps 0", "found '0'");
  ExpectRefused("generate R --image I --prompt P --tokens 0",
                "--tokens: expected a whole number from 1 to 1048576");
  ExpectRefused("estimate " + kQuickstart + " --memory abc",
                "--memory: expected a size such as 24GiB, found 'abc'");
  ExpectRefused("estimate " + kQuickstart + " --memory 0",
                "--memory: expected a size such as 24GiB, found '0'");
}

TEST(Arguments, AnEmptyValueIsNoMissingOne) {
  for (const std::string flag : {"--budget", "--profile", "--out"})
    ExpectRefused("train " + kQuickstart + " " + flag + " ''", flag + " is empty");
  for (const std::string flag : {"--gpu", "--memory", "--profile"})
    ExpectRefused("estimate " + kQuickstart + " " + flag + " ''", flag + " is empty");
  ExpectRefused("resume R --budget ''", "--budget is empty");
  ExpectRefused("eval ''", "DIR is empty");
  ExpectRefused("eval R --against ''", "--against is empty");
}

TEST(Arguments, WhatIsNotUtf8IsRefusedBeforeTheWork) {
  const std::string bad = "$(printf 'caf\\351')";
  ExpectRefused("train " + kQuickstart + " --out " + bad, "--out is not UTF-8");
  ExpectRefused("eval " + bad, "DIR is not UTF-8");
  ExpectRefused("tasks --plugin-path " + bad, "--plugin-path is not UTF-8");
}

TEST(Arguments, ALinkToItselfAndAnOverlongPathAreSaidInWords) {
  const ScratchDirectory scratch;
  fs::create_symlink("loop", scratch / "loop");
  const std::string loop = (scratch / "loop").string(), longer(300, 'x');
  for (const std::string verb : {"resume ", "eval ", "report ", "generate --image I --prompt P "}) {
    ExpectRefused(verb + loop, "Too many levels of symbolic links");
    ExpectRefused(verb + longer, "File name too long");
  }
  ExpectRefused("train " + kQuickstart + " --out " + loop, "Too many levels of symbolic links");
  ExpectRefused("train " + kQuickstart + " --out " + longer, "File name too long");
  ExpectRefused("train " + loop, "Too many levels of symbolic links");
  ExpectRefused("tokenizer show " + loop, "Too many levels of symbolic links");
}

// The words come at once: no file that the work would need is there.
TEST(Arguments, AnOutputThatCannotBeWrittenIsRefusedBeforeTheWork) {
  const ScratchDirectory scratch;
  const std::string nowhere = (scratch / "nosuch" / "x.png").string();
  ExpectRefused("generate R --image I --prompt P --out " + nowhere,
                "--out " + nowhere + ": no such directory");
  ExpectRefused("sample nosuch --out " + nowhere, "no such directory");
  ExpectRefused("sample nosuch --out " + scratch.path().string(), "is a directory, a file is expected");
  WriteText(scratch / "file", "");
  const std::string below = (scratch / "file" / "below").string();
  ExpectRefused("train nosuch.json --out " + below, "--out");
  ExpectRefused("plan nosuch.json --out " + below, "--out");
  ExpectRefused("tokenizer train --corpus nosuch --out " + below, "--out");
}

TEST(Arguments, AResultThatCannotBePrintedIsAFailure) {
  for (const std::string verb :
       {"tasks --json", "tasks", "version", "--help", "--version", "validate --schema run", "eval --help"}) {
    const CommandResult result = Shell(Medley() + verb + " 2>&1 >/dev/full");
    EXPECT_EQ(result.code, 1) << verb;
    EXPECT_TRUE(Has(result.out, "the output could not be written whole")) << verb << ": " << result.out;
  }
}

// Below what libtorch takes to be opened, where its own beginning would abort.
TEST(Arguments, AProcessThatGetsNoMemorySaysSo) {
  const ScratchDirectory scratch;
  for (const int kib : {300'000, 400'000, 500'000}) {
    const CommandResult result =
        Shell("bash -c 'ulimit -v " + std::to_string(kib) + "; " + Medley() + "train " + kQuickstart +
              " threads=1 plan=false steps=1 --out " + (scratch / std::to_string(kib)).string() + " 2>&1'");
    EXPECT_EQ(result.code, 1) << result.out;
    EXPECT_TRUE(Has(result.out, "ulimit -v")) << result.out;
  }
}

}  // namespace
}  // namespace medley
