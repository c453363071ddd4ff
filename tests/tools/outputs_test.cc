// Where verbs write: every output of every verb that the parser knows, onto whatever may stand there.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/report/scratch_directory.h"
#include "tests/tools/run_command.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::CommandResult;
using test::Has;
using test::Medley;
using test::Shell;

// An output of a verb, as the parser has it.
struct Output {
  std::string verb, option, type;
  std::string others;  // what else the verb needs, made up: nothing of it is there
  bool has_force = false;

  std::string name() const { return verb + " " + option; }
  bool is_file() const { return type == "OUT-FILE"; }
  bool is_new() const { return type == "NEW-FOLDER"; }
  std::string To(const std::string& place, const std::string& more = "") const {
    return Medley() + verb + " " + others + option + " '" + place + "' " + more + " 2>&1";
  }
};

bool IsOutput(const json& option) {
  return option.value("type", "").starts_with("OUT-") || option.value("type", "") == "NEW-FOLDER";
}

std::string MadeUp(const json& value) { return value.contains("words") ? value["words"][0] : json("x"); }

void AddOutputs(const json& verb, const std::string& above, std::vector<Output>& outputs) {
  const std::string name = above + verb.at("name").get<std::string>();
  std::string others;
  bool has_force = false;
  for (const json& argument : verb.at("arguments"))
    if (argument.value("required", false)) others += MadeUp(argument) + " ";
  for (const json& option : verb.at("options")) {
    const std::string flag = option.at("names").at(0);
    has_force = has_force || flag == "--force";
    if (option.value("required", false) && !IsOutput(option)) others += flag + " " + MadeUp(option) + " ";
  }
  for (const json& option : verb.at("options"))
    if (IsOutput(option))
      outputs.push_back({name, option.at("names").at(0), option.at("type"), others, has_force});
  for (const json& below : verb.value("verbs", json::array())) AddOutputs(below, name + " ", outputs);
}

const std::vector<Output>& Outputs() {
  static const std::vector<Output> outputs = [] {
    std::vector<Output> all;
    const json command = json::parse(Shell(Medley() + "--help --json").out);
    for (const json& verb : command.at("verbs")) AddOutputs(verb, "", all);
    return all;
  }();
  return outputs;
}

std::set<std::string> NamesOf(const std::string& type) {
  std::set<std::string> names;
  for (const Output& output : Outputs())
    if (output.type == type) names.insert(output.name());
  return names;
}

// All that lies below, with what it is and holds.
std::map<std::string, std::string> Below(const fs::path& folder) {
  std::map<std::string, std::string> all;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    std::string& what = all[entry.path().string()];
    if (entry.is_symlink())
      what = "-> " + fs::read_symlink(entry.path()).string();
    else if (entry.is_regular_file())
      what = ReadText(entry.path());
    else
      what = std::to_string(static_cast<int>(entry.status().type()));
  }
  return all;
}

class EveryOutput : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(scratch_ / "run/step-00000002");
    WriteText(scratch_ / "run/config.resolved.json", "{}");
    WriteText(scratch_ / "run/step-00000002/model.safetensors", "weights");
    fs::create_directories(scratch_ / "other-run");
    WriteText(scratch_ / "other-run/run.json", R"({"starts": []})");
    fs::create_directories(scratch_ / "config");
    WriteText(scratch_ / "config/run.json", R"({"model": "model.json"})");
    fs::create_symlink("run", scratch_ / "link");
    fs::create_symlink("run/step-00000002/model.safetensors", scratch_ / "file-link");
    fs::create_symlink("run/new", scratch_ / "dangling");
    fs::create_directories(scratch_ / "folder/full");
  }

  CommandResult In(const std::string& command) const {
    return Shell("cd " + scratch_.path().string() + " && " + command);
  }
  // With exit code 2, these words, the option's name and the place, and nothing changed.
  void ExpectRefused(const Output& output, const std::string& place, const std::string& words,
                     const std::string& more = "") const {
    const auto before = Below(scratch_.path());
    const CommandResult result = In(output.To(place, more));
    EXPECT_EQ(result.code, 2) << output.name() << " " << place << ": " << result.out;
    EXPECT_TRUE(Has(result.out, words)) << output.name() << " " << place << ": " << result.out;
    EXPECT_TRUE(Has(result.out, output.option + " " + place)) << output.name() << ": " << result.out;
    EXPECT_LT(result.out.size(), 500u) << result.out;
    EXPECT_EQ(Below(scratch_.path()), before) << output.name() << " " << place;
  }

  ScratchDirectory scratch_;
};

// The others cannot see an output that is no OutputOption; Layers.NothingElseOpensAFileForWriting does.
TEST_F(EveryOutput, IsFoundInTheParserAndHasForceWhereSomethingCanBeReplaced) {
  EXPECT_EQ(NamesOf("NEW-FOLDER"),
            (std::set<std::string>{"export --out", "new --dir", "sweep --out", "train --out"}));
  EXPECT_EQ(NamesOf("OUT-FOLDER"), (std::set<std::string>{"eval --out", "plan --out", "sample --pictures"}));
  EXPECT_EQ(NamesOf("OUT-FILE"),
            (std::set<std::string>{"generate --out", "plugins lock --out", "report --html", "sample --out",
                                   "tokenizer train --out"}));
  for (const Output& output : Outputs()) EXPECT_EQ(output.has_force, !output.is_new()) << output.name();
}

TEST_F(EveryOutput, IsRefusedInsideARunHoweverItIsReachedAndWithForceToo) {
  const std::string whole = (scratch_ / "run/new").string();
  for (const Output& output : Outputs()) {
    const std::string force = output.has_force ? "--force" : "";
    for (const std::string& place :
         {std::string("run/new"), std::string("run/step-00000002/new"), std::string("folder/../run/new"),
          std::string("./link/new"), whole, std::string("other-run/new")})
      ExpectRefused(output, place, "it lies in the run ", force);
    if (!output.is_file()) continue;
    for (const std::string place : {"run/config.resolved.json", "run/step-00000002/model.safetensors",
                                    "file-link", "dangling", "other-run/run.json"})
      ExpectRefused(output, place, "it lies in the run ", force);
  }
  for (const Output& output : Outputs()) {
    if (output.is_new()) continue;
    const std::string words = output.is_file() ? "is a directory" : "it lies in the run ";
    for (const std::string place : {"run", "link", "run/step-00000002"})
      ExpectRefused(output, place, words, "--force");
  }
}

// A folder beside a config that is called run.json is no run; the work goes on to what is not there.
TEST_F(EveryOutput, MayLieBesideAConfigOfOnesOwn) {
  for (const Output& output : Outputs()) {
    const CommandResult result = In("timeout 60 " + output.To("config/new"));
    EXPECT_FALSE(Has(result.out, "it lies in the run")) << output.name() << ": " << result.out;
    EXPECT_EQ(ReadText(scratch_ / "config/run.json"), R"({"model": "model.json"})");
  }
}

TEST_F(EveryOutput, IsRefusedWhereAFileOfOnesOwnStands) {
  const std::string own = R"({"model": "model.json", "weights": {"control": 1}, "tasks": {}})";
  WriteText(scratch_ / "own.png", own);
  WriteText(scratch_ / "read-only.png", own);
  fs::create_symlink("own.png", scratch_ / "to-own");
  ASSERT_EQ(::chmod((scratch_ / "read-only.png").c_str(), 0444), 0);
  for (const Output& output : Outputs()) {
    if (!output.is_file()) {
      ExpectRefused(output, "own.png", "is a file; expected a directory", output.has_force ? "--force" : "");
      ExpectRefused(output, "own.png/below", "own.png is a file", output.has_force ? "--force" : "");
      continue;
    }
    for (const std::string place : {"own.png", "read-only.png", "to-own"})
      ExpectRefused(output, place, "replace it with --force");
    ExpectRefused(output, "own.png/below", "own.png", "--force");
    ExpectRefused(output, "folder", "is a directory, a file is expected", "--force");
  }
}

TEST_F(EveryOutput, IsNoFileThatTheCommandLineNamesElsewhere) {
  const std::map<std::string, std::string> more = {{"report --html", ""},
                                                   {"generate --out", ""},
                                                   {"plugins lock --out", "--plugin-path x "},
                                                   {"tokenizer train --out", "--corpus ./folder/../x "}};
  WriteText(scratch_ / "x", "read");
  for (const Output& output : Outputs()) {
    if (more.contains(output.name()))
      ExpectRefused(output, "x", "it is also what is read", more.at(output.name()) + "--force");
  }
}

TEST_F(EveryOutput, OfAFileNeedsTheFolderAboveIt) {
  for (const Output& output : Outputs()) {
    if (output.is_file() && output.verb != "tokenizer train")  // which makes them
      ExpectRefused(output, "nosuch/new", "no such directory: nosuch", "--force");
  }
}

// A run of one task, and every output made once.
class MadeOutputs : public ::testing::Test {
 protected:
  void SetUp() override {
    if (scratch_ != nullptr) return;
    scratch_ = new ScratchDirectory();
    Succeed("train " MEDLEY_SOURCE_DIR "/configs/runs/quickstart.json --out run " + Settings() + " steps=1");
    Succeed("sample control --rows 1 --out sheet.png --pictures pictures");
    Succeed("generate run --image pictures/image-1.png --prompt x --tokens 1 --out picture.png");
    Succeed("report run --html page.html");
    Succeed("plugins lock --out lock");
    Succeed("tokenizer train --task control --vocab 280 --out vocabulary");
  }
  static void TearDownTestSuite() {
    delete scratch_;
    scratch_ = nullptr;
  }

  static std::string Settings() {
    return "threads=1 hours=0 tensorboard=false eval.every=0 plan=false tasks.control.rows=2 "
           "weights=" MEDLEY_SOURCE_DIR "/configs/weights/control.json";
  }
  static CommandResult In(const std::string& command) {
    return Shell("cd " + scratch_->path().string() + " && { " + command + "; } 2>&1");
  }
  static void Succeed(const std::string& arguments) {
    const CommandResult result = In(Medley() + arguments);
    ASSERT_EQ(result.code, 0) << arguments << ": " << result.out;
  }
  static std::string Text(const std::string& name) { return ReadText(*scratch_ / name); }
  static void Write(const std::string& name, const std::string& text) { WriteText(*scratch_ / name, text); }

  // How each is made, up to its option; and a file of its kind.
  struct Recipe {
    std::string command, made;
  };
  static const std::map<std::string, Recipe>& Files() {
    static const std::map<std::string, Recipe> files = {
        {"generate --out",
         {"generate run --image pictures/image-1.png --prompt x --tokens 1", "picture.png"}},
        {"plugins lock --out", {"plugins lock", "lock"}},
        {"report --html", {"report run", "page.html"}},
        {"sample --out", {"sample control --rows 1", "sheet.png"}},
        {"tokenizer train --out", {"tokenizer train --task control --vocab 280", "vocabulary"}}};
    return files;
  }
  static std::string Making(const Output& output, const std::string& place) {
    return Medley() + Files().at(output.name()).command + " " + output.option + " " + place;
  }

  // That none is refused for; sample puts .png behind.
  static std::string Named(const Output& output, const std::string& name) {
    return output.name() == "sample --out" ? name + ".png" : name;
  }

  static ScratchDirectory* scratch_;
};
ScratchDirectory* MadeOutputs::scratch_ = nullptr;

TEST_F(MadeOutputs, AreReplacedByTheirKindAndByNoOther) {
  for (const Output& output : Outputs()) {
    if (!output.is_file()) continue;
    ASSERT_TRUE(Files().contains(output.name())) << "say here how " << output.name() << " is made";
    const std::string copy = Named(output, "copy");
    for (const auto& [other, making] : Files()) {
      const std::string before = Text(making.made);
      const bool is_own = other == output.name() && other != "tokenizer train --out";
      // Its own is found good, and then what is not there is missed.
      const CommandResult result = In("cp " + making.made + " " + copy + " && " + output.To(copy));
      EXPECT_EQ(Has(result.out, "replace it with --force"), !is_own)
          << output.name() << " onto " << other << result.out;
      if (output.name() != "plugins lock --out") {
        EXPECT_EQ(result.code, 2) << output.name() << ": " << result.out;
      }
      if (!is_own) {
        EXPECT_EQ(Text(copy), before) << output.name() << " onto " << other;
      }
    }
  }
}

TEST_F(MadeOutputs, GoIntoFifosAndThroughLinksWhichStay) {
  ASSERT_EQ(::mkfifo((*scratch_ / "fifo").c_str(), 0600), 0);
  fs::create_directory(*scratch_ / "far");
  for (const Output& output : Outputs()) {
    if (!output.is_file()) continue;
    const CommandResult piped =
        In("(timeout 60 cat fifo > got) & " + Making(output, "fifo") + "; code=$?; wait; exit $code");
    EXPECT_EQ(piped.code, 0) << output.name() << ": " << piped.out;
    EXPECT_TRUE(fs::is_fifo(*scratch_ / "fifo")) << output.name();

    fs::remove(*scratch_ / "far/target");
    fs::remove(*scratch_ / "alias");
    fs::create_symlink("far/target", *scratch_ / "alias");
    const CommandResult made = In(Making(output, "alias") + " && cmp got far/target");
    EXPECT_EQ(made.code, 0) << output.name() << ": " << made.out;
    EXPECT_TRUE(fs::is_symlink(*scratch_ / "alias")) << output.name();
    const CommandResult printed = In(Making(output, "/dev/stdout") + " 2>/dev/null | tail -c 100 | wc -c");
    EXPECT_TRUE(Has(printed.out, "100")) << output.name() << ": " << printed.out;
  }
}

TEST_F(MadeOutputs, OntoWhatIsFullCostsNothingThatWasThere) {
  const std::string before = Text("page.html");
  for (const std::string& command :
       {"bash -c 'ulimit -f 4; exec " + test::PlainMedley() + "report run --html page.html'",
        test::PlainMedley() + "report run --html /dev/full"}) {
    const CommandResult full = In(command);
    EXPECT_EQ(full.code, 2) << full.out;
    EXPECT_TRUE(Has(full.out, "cannot write ")) << full.out;
  }
  EXPECT_EQ(Text("page.html"), before);
  EXPECT_FALSE(Has(In("ls -a").out, ".tmp-"));
}

TEST_F(MadeOutputs, OfAPageMayLieBesideTheFilesOfItsRunUnderAPagesName) {
  Succeed("report run --html run/page.html");
  Succeed("report run --html run/page.html");
  fs::create_directory_symlink("run", *scratch_ / "same");
  Succeed("report same --html run/other.html");
  EXPECT_EQ(In("cd run && " + Medley() + "report . --html page.html").code, 0);
  EXPECT_EQ(In("cd run/step-00000001 && " + Medley() + "report .. --html page.html").code, 2);
  const auto before = Below(*scratch_ / "run");
  for (const std::string name :
       {"run.json", "config.resolved.json", "weights.json", "metrics.jsonl", "LATEST", "page",
        "step-00000001/page.html", "step-00000001/model.safetensors"}) {
    const CommandResult refused = In(Medley() + "report run --force --html run/" + name);
    EXPECT_EQ(refused.code, 2) << name << ": " << refused.out;
  }
  EXPECT_EQ(Below(*scratch_ / "run"), before);
}

TEST_F(MadeOutputs, OfOthersAreReplacedWithForce) {
  for (const Output& output : Outputs()) {
    if (!output.is_file()) continue;
    const std::string name = Named(output, "forced");
    Write(name, "own");
    ASSERT_EQ(::chmod((*scratch_ / name).c_str(), 0444), 0);
    const CommandResult forced = In(Making(output, name + " --force"));
    EXPECT_EQ(forced.code, 0) << output.name() << ": " << forced.out;
    EXPECT_GT(Text(name).size(), 30u) << output.name();
    fs::remove(*scratch_ / name);
  }
}

TEST_F(MadeOutputs, InAFolderAreHeldFileByFile) {
  const std::string eval = "eval run --rows 2 --out scores",
                    sample = "sample control --rows 1 --pictures pictures",
                    plan =
                        "plan " MEDLEY_SOURCE_DIR "/configs/runs/quickstart.json --out planned " + Settings();
  struct Folder {
    std::string command;
    std::vector<std::string> files;
  };
  for (const auto& [command, files] :
       {Folder{eval, {"scores/eval.json", "scores/sheet-control.png"}},
        Folder{plan, {"planned/plan.json", "planned/profile.json", "planned/plan.txt"}},
        Folder{sample, {"pictures/image-1.png"}}}) {
    Succeed(command);
    Succeed(command);  // over its own
    for (const std::string& file : files) {
      const std::string made = Text(file);
      Write(file, "own");
      const CommandResult refused = In(Medley() + command);
      EXPECT_EQ(refused.code, 2) << command << ": " << refused.out;
      EXPECT_TRUE(Has(refused.out, file + ": it is there, and is not ")) << refused.out;
      EXPECT_EQ(Text(file), "own");
      Write(file, made);
    }
  }
  Write("planned/plan.json", Text("run/config.resolved.json"));
  const CommandResult itself = In(Medley() + "plan planned/plan.json --force --out planned");
  EXPECT_TRUE(Has(itself.out, "planned/plan.json: it is also what is read")) << itself.out;
  fs::create_symlink("run.json", *scratch_ / "run/eval.json");
  const CommandResult led = In(Medley() + "eval run --rows 2 --force --out run");
  EXPECT_EQ(led.code, 2) << led.out;
  EXPECT_TRUE(Has(Text("run/run.json"), "\"starts\"") && Has(led.out, "it lies in the run ")) << led.out;
  fs::remove(*scratch_ / "run/eval.json");
  Write("scores/eval.json", "own");
  Succeed(eval + " --force");
  EXPECT_TRUE(Has(Text("scores/eval.json"), "\"metric\""));
}

// Its config, say, or the weights that it is to begin with.
TEST_F(MadeOutputs, ARunBeginsInNoFolderWhoseFilesItWouldWriteOver) {
  for (const std::string name : {"run.json", "weights.json", "losses.csv", "plan.txt", "profile.json"}) {
    fs::remove_all(*scratch_ / "mine");
    fs::create_directory(*scratch_ / "mine");
    Write("mine/" + name, "{\"mine\": 1}");
    const CommandResult refused =
        In(Medley() + "train " MEDLEY_SOURCE_DIR "/configs/runs/quickstart.json --out mine " + Settings() +
           " steps=1");
    EXPECT_EQ(refused.code, 2) << name << ": " << refused.out;
    EXPECT_TRUE(Has(refused.out, name + " is there, and a run would write its own over it")) << refused.out;
    EXPECT_EQ(Text("mine/" + name), "{\"mine\": 1}");
    EXPECT_EQ(Below(*scratch_ / "mine").size(), 1u) << name;
  }
}

}  // namespace
}  // namespace medley
