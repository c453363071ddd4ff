// What medley --help says of the verbs, held against what their parsers take.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>

#include "tests/report/scratch_directory.h"
#include "tests/tools/run_command.h"

namespace medley {
namespace {

using nlohmann::json;
using test::Medley;
using test::Shell;
using Names = std::set<std::string>;

Names Found(const std::string& text, const char* pattern) {
  const std::regex expression(pattern);
  Names found;
  for (std::sregex_iterator at(text.begin(), text.end(), expression), end; at != end; ++at)
    found.insert(at->str());
  return found;
}

// "NAME [--kind KIND]" of a verb.
std::string UsageOf(const std::string& help, const std::string& verb) {
  const std::string begin = "\n  medley " + verb + " ";
  const std::size_t at = help.find(begin);
  if (at == std::string::npos) return "";
  const std::size_t from = at + begin.size();
  return help.substr(from, std::min(help.find('\n', from), help.find("  ", from)) - from);
}

struct Parser {
  Names options;                                    // every name
  std::vector<Names> required;                      // any name of each
  std::vector<Names> words;                         // of values that are one of a few
  std::vector<std::pair<std::string, Names>> told;  // what is said of such a value
  Names verbs;
};

void Read(const json& verb, Parser& parser) {
  for (const char* list : {"options", "arguments"}) {
    for (const json& option : verb.at(list)) {
      const Names names = option.value("names", Names());
      parser.options.insert(names.begin(), names.end());
      if (option.value("required", false) && !names.empty()) parser.required.push_back(names);
      if (!option.contains("words")) continue;
      parser.words.push_back(option.at("words").get<Names>());
      parser.told.emplace_back(option.at("help").get<std::string>(), parser.words.back());
    }
  }
  for (const json& below : verb.value("verbs", json::array())) {
    parser.verbs.insert(below.at("name").get<std::string>());
    Read(below, parser);
  }
}

class Help : public ::testing::Test {
 protected:
  std::string help_ = Shell(Medley() + "--help").out;
  json verbs_ = json::parse(Shell(Medley() + "--help --json").out).at("verbs");
};

TEST_F(Help, SaysOfEachVerbWhatItsParserTakes) {
  ASSERT_GT(verbs_.size(), 15u);
  for (const json& verb : verbs_) {
    const std::string name = verb.at("name"), usage = UsageOf(help_, name);
    ASSERT_FALSE(usage.empty()) << name;
    Parser parser;
    Read(verb, parser);
    for (const std::string& flag : Found(usage, "--[a-z-]+"))
      EXPECT_TRUE(flag == "--" || parser.options.contains(flag)) << name << " takes no " << flag;
    for (const Names& names : parser.required) {
      EXPECT_TRUE(std::any_of(names.begin(), names.end(),
                              [&](const std::string& any) { return usage.find(any) != usage.npos; }))
          << name << " needs " << *names.begin();
    }
    for (const std::string& listed : Found(usage, "[a-z_]+(\\|[a-z_]+)+")) {
      const Names words = Found(listed, "[a-z_]+");
      EXPECT_NE(std::find(parser.words.begin(), parser.words.end(), words), parser.words.end())
          << name << ": " << listed;
    }
    const Names said = Found(usage, "[a-z_]+");
    for (const std::string& below : parser.verbs) EXPECT_TRUE(said.contains(below)) << name << " " << below;
    // Where two of a value's words are told, all are.
    for (const auto& [text, words] : parser.told) {
      const Names in_text = Found(text, "[a-z_]+");
      const auto told =
          std::count_if(words.begin(), words.end(), [&](const auto& word) { return in_text.contains(word); });
      EXPECT_TRUE(told < 2 || told == std::ssize(words)) << name << ": " << text;
    }
  }
}

TEST_F(Help, HasEveryVerbThatIsBuilt) {
  Names listed{"taskfiles"}, built;  // which validate calls, and nobody types
  for (const json& verb : verbs_) listed.insert(verb.at("name").get<std::string>());
  const std::string lists = ReadText(MEDLEY_SOURCE_DIR "/tools/medley/CMakeLists.txt");
  for (const std::string& list : Found(lists, "set\\((plain|tensor)_verbs [a-z ]+\\)")) {
    Names names = Found(list.substr(list.find(' ')), "[a-z]+");
    built.merge(names);
  }
  EXPECT_EQ(listed, built);
}

}  // namespace
}  // namespace medley
