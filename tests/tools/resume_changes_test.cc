// What a resume says of what is no longer as it was, and what it refuses.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/report/scratch_directory.h"
#include "tests/tools/run_command.h"

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
    const fs::path configs = MEDLEY_SOURCE_DIR "/configs";
    fs::copy(configs / "tokenizers/small.model", tokenizer_);
    fs::copy(configs / "texts/control.txt", control_text_);
    fs::copy(configs / "weights/control.json", weights_);
    fs::create_directory(plugin_.parent_path());
    fs::copy(MEDLEY_BUILD_DIR "/lib/medley/" MEDLEY_PLUGIN_FOLDER "/control.so", plugin_);
    const CommandResult trained =
        Shell(Medley() + "train " + (configs / "runs/control.json").string() + " --out " + run_.string() +
              " --plugin-path " + plugin_.parent_path().string() +
              " threads=1 plan=false tasks.control.rows=2 steps=1 tokenizer=" + tokenizer_.string() +
              " control_text=" + control_text_.string() + " weights=" + weights_.string() + " 2>&1");
    ASSERT_EQ(trained.code, 0) << trained.out;
  }
  CommandResult Resume() const { return Shell(Medley() + "resume " + run_.string() + " --steps 2 2>&1"); }

  ScratchDirectory scratch_;
  fs::path run_ = scratch_ / "run", tokenizer_ = scratch_ / "own.model", control_text_ = scratch_ / "own.txt",
           weights_ = scratch_ / "own.json", plugin_ = scratch_ / "plugins/control.so";
};

// Of another process than the one that loaded it.
TEST_F(ResumeChanges, SaysThatAPluginWasBuiltAnew) {
  const auto record = nlohmann::json::parse(ReadText(run_ / "run.json"));
  std::string id, bytes = ReadText(plugin_);
  for (const auto& plugin : record.at("plugins")) {
    if (plugin.at("path") == plugin_.string()) id = plugin.at("build_id");
  }
  ASSERT_EQ(id.size(), 40u);
  std::string raw;
  for (std::size_t i = 0; i < id.size(); i += 2)
    raw += static_cast<char>(std::stoi(id.substr(i, 2), nullptr, 16));
  ASSERT_NE(bytes.find(raw), std::string::npos);
  bytes[bytes.find(raw)] ^= 1;
  fs::remove(plugin_);
  WriteText(plugin_, bytes);
  const CommandResult resumed = Resume();
  EXPECT_EQ(resumed.code, 0) << resumed.out;
  EXPECT_TRUE(Has(resumed.out, "changed: the plugin " + plugin_.string() + " was built anew")) << resumed.out;
}

}  // namespace
}  // namespace medley
