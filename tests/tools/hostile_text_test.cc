// Bytes of strangers in whatever the command reads: they reach the terminal as words about them, and as
// nothing that moves a cursor, ends a line or turns the order of what stands around them.
#include <gtest/gtest.h>
#include <medley/base/printable.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tests/report/scratch_directory.h"
#include "tests/tools/run_command.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using test::CommandResult;
using test::Medley;
using test::Shell;

constexpr std::string_view kForged = "FORGED";
// An escape code, a bell, a return, C1's CSI, an override of direction, and what looks like a line of
// medley's.
const std::string kHostile =
    "x\x1b]0;owned\x07\x1b[2J\r\xc2\x9b"
    "31m\u202e\u2028\x7f\nFORGED: all is well\n";

std::string Quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

// "" or what is wrong with what was printed.
std::string Problem(const std::string& printed) {
  if (PrintableLines(printed) != printed) return "bytes as they were";
  for (std::size_t begin = 0; begin < printed.size();) {
    const std::size_t end = std::min(printed.find('\n', begin), printed.size());
    std::string_view line(printed.data() + begin, end - begin);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (line.starts_with(kForged)) return "a line of a stranger's";
    begin = end + 1;
  }
  return "";
}

class HostileText : public ::testing::Test {
 protected:
  // Both streams, and each by itself as JSON needs it.
  void Expect(const std::string& command, const std::string& what = "") const {
    const CommandResult result = Shell(Medley() + command + " 2>&1 < /dev/null");
    EXPECT_EQ(Problem(result.out), "") << what << " medley " << command << "\n" << Printable(result.out);
    EXPECT_LT(result.code, 126) << result.out;
    EXPECT_FALSE(result.out.empty()) << command;
  }
  std::string Write(const std::string& name, const std::string& bytes) const {
    fs::create_directories((scratch_ / name).parent_path());
    WriteText(scratch_ / name, bytes);
    return Quoted((scratch_ / name).string());
  }

  ScratchDirectory scratch_;
};

TEST_F(HostileText, OfAConfigIsQuotedWhereverItStands) {
  ordered_json config = ordered_json::parse(ReadText(MEDLEY_SOURCE_DIR "/configs/runs/quickstart.json"));
  for (auto& value : config) {
    if (value.is_string() && value.get<std::string>().starts_with("../"))
      value = MEDLEY_SOURCE_DIR "/configs/runs/" + value.get<std::string>();
  }
  const auto changed = [&](const std::function<void(ordered_json&)>& change) {
    ordered_json copy = config;
    change(copy);
    return Write("config.json", copy.dump());
  };
  using Json = ordered_json;
  const std::map<std::string, std::function<void(Json&)>> changes = {
      {"an unknown key", [](Json& json) { json[kHostile] = 1; }},
      {"a key below", [](Json& json) { json["optimizer"][kHostile] = 1; }},
      {"a word", [](Json& json) { json["optimizer"]["name"] = kHostile; }},
      {"a number", [](Json& json) { json["steps"] = kHostile; }},
      {"a task", [](Json& json) { json["tasks"][kHostile]["rows"] = 2; }},
      {"an option", [](Json& json) { json["tasks"]["control"]["options"][kHostile] = 2; }},
      {"a variant", [](Json& json) { json["tasks"]["control"]["variant"] = kHostile; }},
      {"a file", [](Json& json) { json["model"] = kHostile; }},
      {"weights", [](Json& json) { json["weights"] = kHostile; }},
      {"a vocabulary", [](Json& json) { json["tokenizer"] = kHostile; }},
      {"a run",
       [](Json& json) {
         json["init_from"] = {{"run", kHostile}};
       }},
      {"a pattern",
       [](Json& json) {
         json["optimizer"]["groups"] = {{{"match", kHostile + "("}}};
       }},
      {"a device", [](Json& json) { json["device"] = kHostile; }},
      {"a budget", [](Json& json) { json["budget"] = kHostile; }}};
  for (const auto& [what, change] : changes) {
    Expect("validate " + changed(change), what);
    Expect("validate --json " + changed(change), what);
  }
  Expect("validate " + Write("config.json", "{\"" + kHostile + "\": \xff\x00"), "no JSON");
  Expect("validate " + Write("config.json", "{\"a\": 1, \"a\": " + kHostile), "a key twice");
  Write("weights.json", ordered_json{{"unit", "rows"}, {"weights", {{kHostile, 1}}}, {kHostile, 2}}.dump());
  Expect("validate " MEDLEY_SOURCE_DIR "/configs/runs/quickstart.json weights=" +
         (scratch_ / "weights.json").string());
}

TEST_F(HostileText, OfTheCommandLineIsQuoted) {
  const std::string hostile = Quoted(kHostile), path = Write("in/" + kHostile + "/a.json", "{");
  const std::string quickstart = MEDLEY_SOURCE_DIR "/configs/runs/quickstart.json ";
  for (const std::string& command : {hostile,
                                     "train " + hostile,
                                     "validate " + path,
                                     "train " + quickstart + hostile,
                                     "train --" + hostile,
                                     "validate " + quickstart + Quoted(kHostile + "=1"),
                                     "validate " + quickstart + Quoted("steps=" + kHostile),
                                     "validate " + quickstart + Quoted("model=" + kHostile),
                                     "report " + hostile,
                                     "eval " + hostile,
                                     "resume " + hostile,
                                     "export " + hostile + " --out x",
                                     "weights history " + hostile,
                                     "tasks " + hostile,
                                     "models " + hostile,
                                     "new " + hostile,
                                     "new x --kind " + hostile,
                                     "inspect " + hostile,
                                     "sample " + hostile,
                                     "plugins check " + hostile,
                                     "plugins show " + hostile,
                                     "completion " + hostile,
                                     "generate x --prompt a --image " + hostile,
                                     "tokenizer train --out x --corpus " + hostile,
                                     "estimate " + quickstart + " --gpu " + hostile,
                                     "tasks --plugin-path " + hostile})
    Expect(command);
}

TEST_F(HostileText, OfATensorsNameIsQuoted) {
  const auto file = [&](const std::string& header) {
    std::string bytes(8, '\0');
    for (int i = 0; i < 8; ++i)
      bytes[static_cast<std::size_t>(i)] = static_cast<char>(header.size() >> (8 * i) & 255);
    return Write("a.safetensors", bytes + header + std::string(8, 'v'));
  };
  const auto entry = [&](const char* type, int end) {
    return ordered_json{{kHostile, {{"dtype", type}, {"shape", {2}}, {"data_offsets", {0, end}}}}};
  };
  Expect("inspect " + file(entry("F32", 8).dump()), "good");
  Expect("inspect --json " + file(entry("F32", 8).dump()), "good");
  Expect("inspect " + file(entry("F32", 4).dump()), "of another size");
  Expect("inspect " + file(entry(kHostile.c_str(), 8).dump()), "of another type");
  Expect("inspect " + file(ordered_json{{kHostile, kHostile}}.dump()), "no object");
  Expect("inspect " + file(ordered_json{{"__metadata__", {{kHostile, 1}}}}.dump()), "metadata");
  Expect("inspect " + file("{\"" + kHostile), "no JSON");
}

TEST_F(HostileText, OfARunsFilesIsQuoted) {
  const std::string run = Quoted((scratch_ / "run").string());
  const std::vector<std::pair<std::string, ordered_json>> files = {
      {"config.resolved.json", {{"steps", 9}, {"note", kHostile}}},
      {"run.json",
       {{"medley", kHostile},
        {"device", kHostile},
        {"starts",
         {{{"step", 0},
           {"time", kHostile},
           {"config", kHostile},
           {"ended", {{"step", 3}, {"why", kHostile}}}}}}}},
      {"metrics.jsonl",
       {{"step", 3},
        {"draws", {{{"task", kHostile}, {"begin", 0}, {"rows", 4}}}},
        {"terms", {{kHostile, {{kHostile, {{"mean", 3}, {"weighted", 6}}}}}}},
        {"lr", 0.1},
        {"eval",
         {{kHostile,
           {{"metric", kHostile},
            {"better", "lower"},
            {"value", 0.2},
            {"low", 0.1},
            {"high", 0.3},
            {"chance", nullptr},
            {"trivial", {{kHostile, 0.4}}},
            {"figures", ordered_json::object()},
            {"rows", 8},
            {"loss", 1.5}}}}}}},
      {"weights.jsonl",
       {{"step", 2}, {"cause", "edit"}, {"name", kHostile}, {"words", kHostile}, {"after", {{kHostile, 1}}}}},
      {"timing.jsonl", {{"step", 3}, {"guard", {{{"words", kHostile}}}}}},
      {"plan.json", {{"budget", 9000}, {"tasks", {{{"task", kHostile}, {"mode", kHostile}, {"rows", 4}}}}}},
      {"receipt.json",
       {{"tasks", {{kHostile, {{{"mode", kHostile}, {"micro_rows", 2}}}}}},
        {"stages", {{{"unit", "rows"}, {"tasks", {{kHostile, {{"rows", 6}, {"asked", 1}}}}}}}}}},
      {"eval.json", {{"step", kHostile}, {"tasks", {{kHostile, kHostile}}}}}};
  for (const auto& [name, json] : files) Write("run/" + name, json.dump() + "\n");
  const std::vector<std::string> verbs = {
      "report " + run,          "report --json " + run,
      "weights history " + run, "weights history --json " + run,
      "weights diff " + run,    "eval " + run,
      "resume " + run,          "export " + run + " --out " + (scratch_ / "x").string()};
  for (const std::string& verb : verbs) Expect(verb);
  for (const auto& [name, json] : files) {  // each beside what was left out, and damaged
    Write("run/" + name, "{\"" + kHostile + "\": \xff");
    for (std::size_t verb = 0; verb < 4; ++verb) Expect(verbs[verb], name);
    fs::remove(scratch_ / ("run/" + name));
  }
}

TEST_F(HostileText, OfAPluginsNameAndBytesIsQuoted) {
  Write("plugins/" + kHostile + ".so", "no library");
  fs::create_directories(scratch_ / ("plugins/" + kHostile + ".d"));
  const std::string folder = Quoted((scratch_ / "plugins").string());
  for (const std::string& command :
       {"tasks --plugin-path " + folder, "plugins list --plugin-path " + folder,
        "plugins list --json --plugin-path " + folder,
        "plugins check " + Quoted((scratch_ / ("plugins/" + kHostile + ".so")).string())})
    Expect(command);
}

TEST_F(HostileText, WhatIsNoStrangersTrickIsPrintedAsItIs) {
  const std::string name = "Größe 猫 🐈.json";
  const CommandResult result = Shell(Medley() + "validate " + Quoted((scratch_ / name).string()) + " 2>&1");
  EXPECT_NE(result.out.find(name), std::string::npos) << result.out;
}

}  // namespace
}  // namespace medley
