// What every verb does with what it is given on the command line, and with an output that cannot be written.
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/report/scratch_directory.h"
#include "tests/sweep.h"
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

// A value of each option and argument that the parsers list, where it may name a file; the others are as good
// as can be without a run.
std::vector<std::string> CommandsWith(const nlohmann::json& verb, const std::string& path,
                                      const std::string& value, const std::string& config) {
  const auto is_text = [](const nlohmann::json& option) {
    static const std::set<std::string> kRead = {"TEXT", "FILE", "RUN", "PATH"};
    return !option.contains("words") && kRead.contains(option.value("type", ""));
  };
  const auto filler = [&](const std::string& name) {
    return name == "CONFIG" || name == "--config" ? config : "x";
  };
  const auto given = [&](const nlohmann::json* chosen) {
    std::string words = path;
    for (const auto& argument : verb.at("arguments")) {
      if (&argument == chosen)
        words += " " + value;
      else if (argument.value("required", false))
        words += " " + filler(argument.at("name"));
    }
    for (const auto& option : verb.at("options")) {
      const std::string name = option.at("names").at(0);
      if (&option == chosen)
        words += " " + name + " " + value;
      else if (option.value("required", false))
        words += " " + name + " " + filler(name);
    }
    return words;
  };
  std::vector<std::string> commands;
  for (const char* list : {"arguments", "options"}) {
    for (const auto& one : verb.at(list)) {
      if (is_text(one)) commands.push_back(given(&one));
    }
  }
  for (const auto& below : verb.value("verbs", nlohmann::json::array())) {
    for (std::string& command :
         CommandsWith(below, path + " " + below.at("name").get<std::string>(), value, config))
      commands.push_back(std::move(command));
  }
  return commands;
}

TEST(Arguments, AnInputThatIsNoneIsToldInMedleysWordsByEveryOption) {
  const ScratchDirectory scratch;
  WriteText(scratch / "empty", "");
  WriteText(scratch / "closed", "x");
  fs::permissions(scratch / "closed", fs::perms::none);
  WriteText(scratch / "bytes", std::string("\0\xff\x1b", 3));
  WriteText(scratch / "with\na line", "");
  fs::create_directory(scratch / "folder");
  WriteText(scratch / "config.json", "{}");
  const std::string config = (scratch / "config.json").string();
  const nlohmann::json verbs = nlohmann::json::parse(Shell(Medley() + "--help --json").out).at("verbs");
  std::vector<std::string> commands;
  for (const char* name : {"missing", "empty", "closed", "bytes", "with\na line", "folder", "empty/below"}) {
    for (const auto& verb : verbs) {
      if (verb.at("name") == "launch") continue;  // whose argument is a command
      for (std::string& command :
           CommandsWith(verb, verb.at("name"), "'" + (scratch / name).string() + "'", config))
        // Which without a plugin's name would check them all.
        if (!command.starts_with("plugins check --")) commands.push_back(std::move(command));
    }
  }
  ASSERT_GT(commands.size(), 300u);
  for (const std::string& command : test::Slice("InputPaths", commands, 16)) {
    const CommandResult result =
        Shell("cd " + scratch.path().string() + " && " + Medley() + command + " 2>&1 < /dev/null");
    const bool is_verdict = command.starts_with("plugins check") && result.code == 1;
    EXPECT_TRUE(result.code == 0 || result.code == 2 || is_verdict) << command << ": " << result.out;
    for (const char* words : {"filesystem error", "std::", "basic_", "json.exception", "c10::", "[enforce"})
      EXPECT_FALSE(Has(result.out, words)) << command << ": " << result.out;
    EXPECT_FALSE(Has(result.out, "with\na line")) << command << ": " << result.out;
  }
}

TEST(Arguments, AnOutputNamedAsAnotherKindOfFileIsRefused) {
  for (const std::string command :
       {"generate x --image x --prompt x --out d.jpg", "sample control --out d.JPEG",
        "report x --html page.pdf", "plugins lock --config x --out lock.txt",
        "tokenizer train --out tokenizer.json"}) {
    ExpectRefused(command, "is written, and is called NAME.");
  }
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
