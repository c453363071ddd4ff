#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <vector>

#include <medley/base/cpu.h>
#include <medley/base/version.h>
#include <medley/task/abi.h>

#include "tests/tools/run_command.h"

namespace medley {
namespace {

using test::Medley;
using test::Shell;

TEST(VersionCommand, SaysInJsonWhatItWasBuiltFrom) {
  const auto result = Shell(Medley() + "version --json");
  ASSERT_EQ(result.code, 0);
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json.at("version"), Version());
  EXPECT_EQ(json.at("build_type"), BuildType());
  EXPECT_EQ(json.at("plugin_api"), kPluginApi);
  const auto& torch = json.at("libtorch");
  EXPECT_TRUE(torch.at("version").get<std::string>().starts_with("2."));
  EXPECT_TRUE(torch.at("build").get<std::string>().starts_with(torch.at("version").get<std::string>()));
  EXPECT_EQ(torch.at("abi"), 1);
  EXPECT_NE(torch.at("blas"), "unknown");
  EXPECT_TRUE(torch.at("cuda").is_boolean());
  const std::vector<std::string> sources = {"wheel", "distribution", "archive"};
  EXPECT_NE(std::find(sources.begin(), sources.end(), torch.at("source").get<std::string>()), sources.end());
  const auto& cpu = json.at("cpu");
  EXPECT_EQ(cpu.at("model"), ThisCpu().model);
  EXPECT_EQ(cpu.at("instructions"), ThisCpu().instructions);
  EXPECT_EQ(Shell("test -d '" + torch.at("root").get<std::string>() + "'/include").code, 0);
}

TEST(VersionCommand, NamesTheCpuAndWhatLimitsIt) {
  const auto plain = Shell(Medley() + "version");
  EXPECT_NE(plain.out.find("CPU " + ThisCpu().model), std::string::npos) << plain.out;
  const auto limited = Shell("MKL_CBWR= ATEN_CPU_CAPABILITY=default " + Medley() + "version");
  EXPECT_NE(limited.out.find("ATEN_CPU_CAPABILITY=default"), std::string::npos) << limited.out;
}

TEST(Command, WithoutAVerbItHelpsAndFails) {
  const auto result = Shell(Medley() + "2>&1");
  EXPECT_EQ(result.code, 2);
  EXPECT_NE(result.out.find("medley train CONFIG"), std::string::npos);
}

TEST(Command, AnUnknownVerbIsBadInputAndNamed) {
  const auto result = Shell(Medley() + "trian 2>&1");
  EXPECT_EQ(result.code, 2);
  EXPECT_NE(result.out.find("no such verb: 'trian'"), std::string::npos);
}

TEST(Command, AnUnknownOptionIsBadInputAndNamed) {
  const auto result = Shell(Medley() + "version --jsn 2>&1");
  EXPECT_EQ(result.code, 2);
  EXPECT_NE(result.out.find("--jsn"), std::string::npos);
}

// The options of a verb that the command's help shows, such as "--rows".
std::vector<std::string> OptionsIn(const std::string& help) {
  std::vector<std::string> options;
  for (std::size_t at = help.find("--"); at != std::string::npos; at = help.find("--", at + 2))
    options.push_back(help.substr(at, help.find_first_of(" ]\n", at) - at));
  return options;
}

TEST(Command, EveryVerbThatTheHelpListsHasAHelpThatNamesItsOptions) {
  const auto help = Shell(Medley() + "--help 2>&1");
  EXPECT_EQ(help.code, 0);
  std::istringstream lines(help.out);
  std::set<std::string> verbs;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  medley ")) continue;
    const std::string verb = line.substr(9, line.find(' ', 9) - 9);
    verbs.insert(verb);
    static const std::map<std::string, std::string> kDeeper = {
        {"plugins", " list"}, {"tokenizer", " train"}, {"weights", " history"}};
    const std::string deeper = kDeeper.contains(verb) ? kDeeper.at(verb) : "";
    const auto result = Shell(Medley() + verb + deeper + " --help 2>/dev/null");
    EXPECT_EQ(result.code, 0) << verb;
    EXPECT_NE(result.out.find(verb + deeper + " [OPTIONS]"), std::string::npos) << result.out;
    for (const std::string& option : OptionsIn(line))
      EXPECT_NE(result.out.find(option), std::string::npos) << verb << " " << option << ": " << result.out;
  }
  EXPECT_EQ(verbs,
            (std::set<std::string>{"train",      "resume",   "plan",     "report",    "estimate", "eval",
                                   "export",     "generate", "inspect",  "tasks",     "plugins",  "models",
                                   "new",        "sample",   "validate", "tokenizer", "version",  "weights",
                                   "completion", "launch",   "runs",     "watch",     "follow",   "sweep"}));
}

// In every verb that has it: repeated, relative or absolute, and it leaves the arguments behind it alone.
TEST(Command, PluginPathsTakeOneArgumentEach) {
  const std::string paths = "--plugin-path / --plugin-path ./ ", model = " --out /nowhere/out 2>&1";
  EXPECT_EQ(Shell(Medley() + "tasks " + paths).code, 0);
  EXPECT_EQ(Shell(Medley() + "validate " + paths + MEDLEY_SOURCE_DIR "/configs/runs/quickstart.json").code,
            0);
  const auto sample = Shell(Medley() + "sample " + paths + "nosuch 2>&1");
  EXPECT_NE(sample.out.find("nosuch"), std::string::npos) << sample.out;
  const auto train = Shell(Medley() + "train " + paths + "nosuch.json" + model);
  EXPECT_NE(train.out.find("no such file: nosuch.json"), std::string::npos) << train.out;
  const auto tokenizer = Shell(Medley() + "tokenizer train " + paths + "--corpus nosuch.txt" + model);
  EXPECT_NE(tokenizer.out.find("no such file: nosuch.txt"), std::string::npos) << tokenizer.out;
  const auto empty = Shell(Medley() + "tasks --plugin-path '' 2>&1");
  EXPECT_EQ(empty.code, 2);
  EXPECT_NE(empty.out.find("it is empty"), std::string::npos) << empty.out;
}

// A config or a run's directory may be somebody else's.
TEST(Command, EveryVerbThatRunsAConfigsPluginsAsksForThem) {
  for (const std::string verb : {"train", "resume", "plan", "estimate", "eval", "export", "generate",
                                 "sample", "validate", "tokenizer train", "plugins check", "plugins lock"}) {
    const auto help = Shell(Medley() + verb + " --help");
    EXPECT_NE(help.out.find("--plugin-path"), std::string::npos) << verb;
    EXPECT_NE(help.out.find("--allow-config-plugins"), std::string::npos) << verb;
  }
}

TEST(Command, OnlyVerbsThatTrainMayRunAConfigsOnEvent) {
  for (const std::string verb : {"train", "resume", "plan", "eval", "validate", "estimate"}) {
    const bool has = Shell(Medley() + verb + " --help").out.find("--allow-on-event") != std::string::npos;
    EXPECT_EQ(has, verb == "train" || verb == "resume") << verb;
  }
}

TEST(Places, TheConfigsComeAlong) {
  EXPECT_TRUE(std::filesystem::exists(ConfigDirectory() / "runs" / "quickstart.json"));
}

// The time is that of the libraries, and a machine may be busy.
TEST(VersionCommand, OpensNoLibtorch) {
  const auto version = Shell("LD_DEBUG=files " + Medley() + "version 2>&1");
  ASSERT_EQ(version.code, 0);
  EXPECT_NE(version.out.find("libmedley_base.so"), std::string::npos);
  for (const char* library :
       {"libtorch.so", "libtorch_cpu.so", "libc10.so", "libmedley.so", "medley_verbs.so"})
    EXPECT_EQ(version.out.find(library), std::string::npos) << library;
}

}  // namespace
}  // namespace medley
