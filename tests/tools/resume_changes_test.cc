// What a resume says of what is no longer as it was, and what it refuses.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/report/scratch_directory.h"
#include "tests/tools/run_command.h"
#include "tests/tools/small_runs.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using test::CommandResult;
using test::Has;
using test::Medley;
using test::Shell;

// A run of one step, made from copies of its files.
class ResumeChanges : public ::testing::Test {
 protected:
  void SetUp() override {
    const CommandResult trained = Shell(
        Medley() + "train " MEDLEY_SOURCE_DIR "/configs/runs/control.json --out " + files_.run.string() +
        " --plugin-path " + files_.plugin.parent_path().string() + " " + files_.Overrides() + " 2>&1");
    ASSERT_EQ(trained.code, 0) << trained.out;
  }
  CommandResult Resume(const std::string& more = "--steps 2") const {
    return Shell(Medley() + "resume " + files_.run.string() + " " + more + " 2>&1");
  }

  const test::CopiedFiles files_;
};

// Of another process than the one that loaded it.
TEST_F(ResumeChanges, SaysThatAPluginWasBuiltAnew) {
  const auto record = nlohmann::json::parse(ReadText(files_.run / "run.json"));
  std::string id, bytes = ReadText(files_.plugin);
  for (const auto& plugin : record.at("plugins")) {
    if (plugin.at("path") == files_.plugin.string()) id = plugin.at("build_id");
  }
  ASSERT_EQ(id.size(), 40u);
  std::string raw;
  for (std::size_t i = 0; i < id.size(); i += 2)
    raw += static_cast<char>(std::stoi(id.substr(i, 2), nullptr, 16));
  ASSERT_NE(bytes.find(raw), std::string::npos);
  bytes[bytes.find(raw)] ^= 1;
  fs::remove(files_.plugin);
  WriteText(files_.plugin, bytes);
  const CommandResult resumed = Resume();
  EXPECT_EQ(resumed.code, 0) << resumed.out;
  EXPECT_TRUE(Has(resumed.out, "changed: the plugin " + files_.plugin.string() + " was built anew"))
      << resumed.out;
}

// Both ways, and the state that was converted is saved and found again.
TEST_F(ResumeChanges, ConvertsMomentsOfAnotherKind) {
  struct Switch {
    std::string from, to, steps;
  };
  const auto rule = [](const std::string& moments) {
    return moments == "float" ? std::string("adamw") : "adamw in " + moments;
  };
  for (const Switch& s : {Switch{"float", "8bit", "2"}, Switch{"8bit", "float", "3"}}) {
    const CommandResult resumed = Resume("optimizer.moments=" + s.to + " --steps " + s.steps);
    EXPECT_EQ(resumed.code, 0) << resumed.out;
    EXPECT_TRUE(Has(resumed.out, "changed: optimizer.moments: \"" + s.from + "\" -> \"" + s.to + "\"") &&
                Has(resumed.out,
                    "36 tensors was of " + rule(s.from) + ", and is converted into that of " + rule(s.to)) &&
                Has(resumed.out, "saved step " + s.steps))
        << resumed.out;
  }
  const CommandResult on = Resume("--steps 4");
  EXPECT_EQ(on.code, 0) << on.out;
  EXPECT_FALSE(Has(on.out, "converted")) << on.out;
  const CommandResult refused = Resume("optimizer.moments=4bit --steps 5");
  EXPECT_EQ(refused.code, 2) << refused.out;
  EXPECT_TRUE(Has(refused.out, "4bit") && Has(refused.out, "8bit")) << refused.out;
}

}  // namespace
}  // namespace medley
