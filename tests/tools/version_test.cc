#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include <medley/base/version.h>

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
  const auto& torch = json.at("libtorch");
  EXPECT_TRUE(torch.at("version").get<std::string>().starts_with("2."));
  EXPECT_TRUE(torch.at("build").get<std::string>().starts_with(torch.at("version").get<std::string>()));
  EXPECT_EQ(torch.at("abi"), 1);
  EXPECT_NE(torch.at("blas"), "unknown");
  EXPECT_TRUE(torch.at("cuda").is_boolean());
  const std::vector<std::string> sources = {"wheel", "distribution", "archive"};
  EXPECT_NE(std::find(sources.begin(), sources.end(), torch.at("source").get<std::string>()), sources.end());
  EXPECT_EQ(Shell("test -d '" + torch.at("root").get<std::string>() + "'/include").code, 0);
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

TEST(Command, HelpIsNoError) {
  EXPECT_EQ(Shell(Medley() + "--help").code, 0);
  const auto result = Shell(Medley() + "version --help");
  EXPECT_EQ(result.code, 0);
  EXPECT_NE(result.out.find("--json"), std::string::npos);
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

TEST(Places, TheConfigsComeAlong) {
  EXPECT_TRUE(std::filesystem::exists(ConfigDirectory() / "runs" / "quickstart.json"));
}

// Printed, not asserted: the machine may be busy.
TEST(VersionCommand, AnswersAtOnce) {
  std::vector<double> ms;
  for (int i = 0; i < 9; ++i) {
    const auto start = std::chrono::steady_clock::now();
    ASSERT_EQ(Shell(Medley() + "version").code, 0);
    ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  std::nth_element(ms.begin(), ms.begin() + 4, ms.end());
  RecordProperty("median_ms", std::to_string(ms[4]));
  std::printf("medley version: median %.1f ms of 9\n", ms[4]);
}

}  // namespace
}  // namespace medley
