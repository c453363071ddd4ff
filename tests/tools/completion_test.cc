// medley completion, in the shells that it is for: bash always, zsh and fish where they are.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "tests/report/scratch_directory.h"
#include "tests/tools/run_command.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using test::CommandResult;
using test::Medley;
using test::Shell;
using Completions = std::set<std::string>;

// In each shell: what a line may become, as the words that the shell would show.
class Completion : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (Shell("command -v " + GetParam() + " >/dev/null").code != 0)
      GTEST_SKIP() << "there is no " << GetParam() << " on this machine";
    fs::create_directories(scratch_ / "work/runs/one");
    fs::create_directories(scratch_ / "work/runs/two");
    fs::create_directories(scratch_ / "work/notes");
    fs::create_directories(scratch_ / "work/.hidden");
    for (const char* run : {"work/runs/one", "work/runs/two"})
      WriteText(scratch_ / run / "config.resolved.json", "{}");
    WriteText(scratch_ / "work/my.json", "{}");
    script_ = (scratch_ / "completion").string();
    ASSERT_EQ(Shell(Medley() + "completion " + GetParam() + " > " + script_).code, 0);
  }

  Completions Of(const std::string& line) const {
    WriteText(scratch_ / "line", line);
    WriteText(scratch_ / "ask", "cd '" + (scratch_ / "work").string() + "'\n" + Ask());
    const CommandResult result =
        Shell("PATH=" MEDLEY_BUILD_DIR "/bin:$PATH " + GetParam() + (GetParam() == "zsh" ? " -f " : " ") +
              (scratch_ / "ask").string() + " 2>&1");
    EXPECT_EQ(result.code, 0) << result.out;
    Completions words;
    std::istringstream lines(result.out);
    for (std::string word; std::getline(lines, word);) {
      if (!word.empty()) words.insert(word.substr(0, word.find('\t')));
    }
    return words;
  }

  ScratchDirectory scratch_;

 private:
  // Prints the words for the line in the file "line".
  std::string Ask() const {
    const std::string line = (scratch_ / "line").string();
    if (GetParam() == "bash")
      return "source " + script_ + "\ncomplete -p medley >/dev/null || exit 9\nCOMP_LINE=\"$(cat " + line +
             "; echo .)\"; COMP_LINE=\"${COMP_LINE%.}\"\n"
             "COMP_POINT=${#COMP_LINE}\n_medley\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n";
    if (GetParam() == "fish")
      return "source " + script_ + "\ncomplete -C (cat " + line + " | string collect -N)\n";
    // compsys needs a terminal: what it would be told is printed, those words alone that begin as the last
    // one.
    return "compdef() { : }\n_describe() { local w; for w in \"${(@P)2}\"; do _tell \"${w%%:*}\"; done }\n"
           "compadd() { local w; for w in \"${@[2,-1]}\"; do _tell \"$w\"; done }\n"
           "_files() { local w; for w in *(N); do _tell \"$w\"; done }\n"
           "_tell() { [[ $1 == \"${words[CURRENT]}\"* && $1 != -- && -n $1 ]] && print -r -- \"$1\"; true }\n"
           "source " +
           script_ + "\nline=\"$(cat " + line +
           "; echo .)\"; line=\"${line%.}\"\nwords=(\"${(@s: :)line}\")\nCURRENT=${#words}\n_medley || "
           "true\n";
  }

  std::string script_;
};
INSTANTIATE_TEST_SUITE_P(Shells, Completion, ::testing::Values("bash", "zsh", "fish"),
                         [](const auto& shell) { return shell.param; });

TEST_P(Completion, VerbsAndTheVerbsBelowThem) {
  EXPECT_EQ(Of("medley tra"), (Completions{"train"}));
  EXPECT_EQ(Of("medley e"), (Completions{"estimate", "eval", "export"}));
  EXPECT_EQ(Of("medley weights "), (Completions{"history", "diff"}));
  EXPECT_EQ(Of("medley plugins l"), (Completions{"list", "lock"}));
  EXPECT_EQ(Of("medley completion "), (Completions{"bash", "zsh", "fish"}));
  EXPECT_FALSE(Of("medley ").contains("check"));
}

TEST_P(Completion, OptionsAndTheWordsThatTheyTake) {
  EXPECT_EQ(Of("medley train --allow-n"), (Completions{"--allow-new-rows"}));
  EXPECT_EQ(Of("medley weights diff --j"), (Completions{"--json"}));
  EXPECT_EQ(Of("medley eval runs/one --device "), (Completions{"cpu", "cuda"}));
  EXPECT_EQ(Of("medley estimate my.json --gpu RTX-309"), (Completions{"RTX-3090"}));
  EXPECT_EQ(Of("medley sample control --rows "), Completions());
}

TEST_P(Completion, TasksModelsAndRuns) {
  EXPECT_EQ(Of("medley sample mem_c"), (Completions{"mem_canvas"}));
  EXPECT_EQ(Of("medley tasks zoom_"), (Completions{"zoom_agent", "zoom_gold", "zoom_halfway"}));
  EXPECT_EQ(Of("medley tokenizer train --task mem_c"), (Completions{"mem_canvas"}));
  EXPECT_EQ(Shell(Medley() + "completion --list=task | grep ^control").out,
            "control\tdraw the picture that you see; continue a line of text\n");
  EXPECT_EQ(Of("medley models ag"), (Completions{"agent"}));
  EXPECT_EQ(Of("medley report "), (Completions{"notes/", "runs/", "runs/one", "runs/two"}));
  EXPECT_EQ(Of("medley eval runs/one --against runs/t"), (Completions{"runs/two"}));
}

TEST_P(Completion, FilesAndConfigKeys) {
  EXPECT_EQ(Of("medley train m"), (Completions{"my.json"}));
  EXPECT_EQ(Of("medley train my.json draws"), (Completions{"draws_per_step="}));
  EXPECT_EQ(Of("medley train --out runs/new my.json optimizer.warm"),
            (Completions{"optimizer.warmup_steps="}));
  EXPECT_EQ(Of("medley resume runs/one tasks.control.ro"), (Completions{"tasks.control.rows="}));
  const Completions options = Of("medley plan my.json steps=4 tasks.arrow_to_gold.options.");
  EXPECT_TRUE(options.contains("tasks.arrow_to_gold.options.region_share=")) << options.size();
}

TEST_P(Completion, AFurtherNameOfATaskHasAKind) {
  EXPECT_EQ(Of("medley train my.json tasks.asks.ki"), (Completions{"tasks.asks.kind="}));
  EXPECT_EQ(Of("medley train my.json tasks.control.ki"), Completions());
  const std::string key = GetParam() == "bash" ? "" : "tasks.asks.kind=";
  EXPECT_EQ(Of("medley train my.json tasks.asks.kind=mem_c"), (Completions{key + "mem_canvas"}));
}

TEST_P(Completion, ValuesOfKeysThatHaveAFew) {
  Completions values = Of("medley train my.json device=c");
  // bash takes what stands behind the "=" for a word of its own.
  const std::string key = GetParam() == "bash" ? "" : "device=";
  EXPECT_EQ(values, (Completions{key + "cpu", key + "cuda"}));
}

TEST(CompletionVerb, SaysWhichShellsThereAre) {
  for (const std::string arguments : {"", "tcsh"}) {
    const CommandResult refused = Shell(Medley() + "completion " + arguments + " 2>&1");
    EXPECT_EQ(refused.code, 2) << refused.out;
    EXPECT_NE(refused.out.find("bash"), std::string::npos) << refused.out;
  }
}

// The whole command for other programs, hidden things left out.
TEST(HelpJson, NamesEveryVerbWithItsOptionsAndEveryExitCode) {
  const CommandResult result = Shell(Medley() + "--help --json");
  ASSERT_EQ(result.code, 0);
  const auto command = nlohmann::json::parse(result.out);
  Completions verbs;
  for (const auto& verb : command.at("verbs")) verbs.insert(verb.at("name").get<std::string>());
  EXPECT_TRUE(verbs.contains("train") && verbs.contains("version") && !verbs.contains("check"));
  std::string codes;
  for (const auto& exit : command.at("exit_codes")) codes += exit.at("code").dump() + " ";
  EXPECT_EQ(codes, "0 1 2 3 4 5 130 ");
  const auto train = nlohmann::json::parse(Shell(Medley() + "train --help --json").out);
  EXPECT_EQ(train.at("arguments").at(0).at("name"), "CONFIG");
  EXPECT_EQ(train.at("arguments").at(0).at("required"), true);
  EXPECT_EQ(train.at("arguments").at(1).at("many"), true);
}

}  // namespace
}  // namespace medley
