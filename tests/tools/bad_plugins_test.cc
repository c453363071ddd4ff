// Bad plugins that need a process of their own, and the table of all cases: tests/bad_plugins/README.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/report/scratch_directory.h"
#include "tests/tools/run_command.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using test::CommandResult;
using test::Has;
using test::Medley;
using test::Shell;

std::string PathOf(const std::string& fixture) {
  return MEDLEY_PLUGIN_FIXTURES "/" + fixture + "/" + fixture + ".so";
}

// A run that draws the tasks of these fixtures, which have the fixtures' names.
CommandResult TrainBad(const ScratchDirectory& scratch, const std::vector<std::string>& fixtures) {
  nlohmann::json weights;
  std::string paths;
  for (const std::string& fixture : fixtures) {
    weights["weights"][fixture] = 1;
    paths += " --plugin-path " + PathOf(fixture);
  }
  WriteText(scratch / "weights.json", weights.dump());
  return Shell("ulimit -c 0; " + Medley() + "train " MEDLEY_SOURCE_DIR "/configs/runs/quickstart.json" +
               paths + " --out " + (scratch / "run").string() +
               " weights=" + (scratch / "weights.json").string() +
               " threads=1 hours=0 plan=false tensorboard=false eval.every=0 steps=2 2>&1");
}

TEST(BadPlugin, OneThatThrowsOrAbortsAtLoadIsNamedWithItsFile) {
  for (const std::string fixture : {"throws_at_load", "aborts_at_load"}) {
    const ScratchDirectory scratch;
    const CommandResult run = TrainBad(scratch, {fixture});
    EXPECT_NE(run.code, 0) << run.out;
    EXPECT_TRUE(Has(run.out, "in plugin '" + fixture + "' (task " + fixture + ", while loading " +
                                 fs::canonical(PathOf(fixture)).string()))
        << run.out;
  }
}

TEST(BadPlugin, TheSecondWithOneTorchLibraryIsNamedWithItsFile) {
  const ScratchDirectory scratch;
  const CommandResult run = TrainBad(scratch, {"torch_library_a", "torch_library_b"});
  EXPECT_NE(run.code, 0) << run.out;
  EXPECT_TRUE(Has(run.out, "single TORCH_LIBRARY")) << run.out;
  EXPECT_TRUE(Has(run.out, "while loading ")) << run.out;
}

TEST(BadPlugin, WhatItPrintsIsNotInWhatMachinesRead) {
  const std::string path = PathOf("writes_to_cout");
  for (const std::string verb : {"tasks", "models"}) {
    const CommandResult said = Shell(Medley() + verb + " --json --plugin-path " + path);
    EXPECT_EQ(said.code, 0) << said.out;
    EXPECT_TRUE(nlohmann::json::accept(said.out)) << said.out;
  }
  const ScratchDirectory scratch;
  const CommandResult run = TrainBad(scratch, {"writes_to_cout"});
  EXPECT_TRUE(Has(run.out, "chatter at load") && Has(run.out, "chatter while made")) << run.out;
  for (const char* file : {"run.json", "config.resolved.json", "weights.json"})
    EXPECT_TRUE(nlohmann::json::accept(ReadText(scratch / "run" / file))) << file;
  EXPECT_FALSE(Has(ReadText(scratch / "run/metrics.jsonl"), "chatter"));
}

TEST(BadPlugin, ATaskIsNeverAPath) {
  const ScratchDirectory scratch;
  WriteText(scratch / "weights.json", R"({"weights": {"../tiny": 1}})");
  const CommandResult said =
      Shell(Medley() + "validate " MEDLEY_SOURCE_DIR "/configs/runs/quickstart.json weights=" +
            (scratch / "weights.json").string() + " --plugin-path " + PathOf("tiny") + " 2>&1");
  EXPECT_EQ(said.code, 2) << said.out;
  EXPECT_TRUE(Has(said.out, "weights.../tiny: no such task")) << said.out;
}

// The table's rows, each with its cells.
std::vector<std::vector<std::string>> TableRows() {
  std::istringstream file(ReadText(MEDLEY_SOURCE_DIR "/tests/bad_plugins/README.md"));
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(file, line);) {
    if (!std::regex_search(line, std::regex(R"(^\| \d)"))) continue;
    std::istringstream cells(line.substr(1));
    auto& row = rows.emplace_back();
    for (std::string cell; std::getline(cells, cell, '|');)
      row.push_back(std::regex_replace(cell, std::regex("^ +| +$"), ""));
  }
  return rows;
}

std::vector<std::string> AllMatches(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  std::vector<std::string> found;
  for (auto i = std::sregex_iterator(text.begin(), text.end(), regex); i != std::sregex_iterator(); ++i)
    found.push_back(i->str(i->size() > 1 ? 1 : 0));
  return found;
}

// "Suite.Name" of every test there is, and of those that CMake makes of files.
std::set<std::string> AllTests() {
  std::set<std::string> tests;
  for (const auto& entry : fs::recursive_directory_iterator(MEDLEY_SOURCE_DIR "/tests")) {
    const std::string stem = entry.path().stem().string();
    if (entry.path().extension() != ".cc") continue;
    if (stem.starts_with("must_not_compile_")) tests.insert("bad_plugins." + stem);
    if (!stem.ends_with("_test")) continue;
    const std::string text = ReadText(entry.path());
    const std::regex regex(R"(\nTEST(?:_F|_P)?\((\w+),\s*(\w+)\))");
    for (auto i = std::sregex_iterator(text.begin(), text.end(), regex); i != std::sregex_iterator(); ++i)
      tests.insert(i->str(1) + "." + i->str(2));
  }
  return tests;
}

bool IsThere(const std::set<std::string>& tests, const std::string& name) {
  if (!name.ends_with('*')) return tests.count(name) != 0;
  const std::string start = name.substr(0, name.size() - 1);
  const auto found = tests.lower_bound(start);
  return found != tests.end() && found->starts_with(start);
}

TEST(BadPluginTable, HasEachOfTheCasesOnce) {
  std::multiset<int> cases;
  for (const auto& row : TableRows()) {
    for (const std::string& number : AllMatches(row.at(0), R"((?:^|, )(\d+) )"))
      cases.insert(std::stoi(number));
  }
  for (int i = 1; i <= 72; ++i) EXPECT_EQ(cases.count(i), 1u) << "case " << i;
  EXPECT_EQ(cases.size(), 72u);
}

// In parentheses: what CMake builds of a source.
TEST(BadPluginTable, NamesFixturesThatAreThere) {
  const std::set<std::string> other = {"none", "made", "scripted"};
  for (const auto& row : TableRows()) {
    const std::string sources = std::regex_replace(row.at(1), std::regex(R"(\(.*\))"), "");
    for (const std::string& fixture : AllMatches(sources, R"([\w./]+)")) {
      if (other.count(fixture) != 0) continue;
      bool is_there = fs::exists(MEDLEY_SOURCE_DIR "/" + fixture);
      for (const char* directory : {"/tests/bad_plugins/", "/tests/plugin/fixtures/"})
        is_there = is_there || fs::exists(MEDLEY_SOURCE_DIR + (directory + fixture) + ".cc");
      EXPECT_TRUE(is_there) << row.at(0) << ": " << fixture;
    }
  }
}

TEST(BadPluginTable, NamesTestsThatAreThere) {
  const std::set<std::string> tests = AllTests();
  for (const auto& row : TableRows()) {
    const std::vector<std::string> named = AllMatches(row.at(2), R"([A-Za-z_]\w*\.\w*\*?)");
    EXPECT_FALSE(named.empty()) << row.at(0);
    EXPECT_FALSE(row.at(3).empty()) << row.at(0);
    for (const std::string& name : named) EXPECT_TRUE(IsThere(tests, name)) << row.at(0) << ": " << name;
  }
}

}  // namespace
}  // namespace medley
