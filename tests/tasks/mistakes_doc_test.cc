// docs/mistakes.md names a test for each mistake: each must be there.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace {

namespace fs = std::filesystem;

std::string TextOf(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

// All matches of a pattern with two groups, as "first.second".
std::set<std::string> Names(const std::string& text, const std::regex& pattern) {
  std::set<std::string> names;
  for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match) {
    names.insert((*match)[1].str() + "." + (*match)[2].str());
  }
  return names;
}

TEST(Mistakes, NameTestsThatAreThere) {
  const fs::path root(MEDLEY_SOURCE_DIR);
  std::set<std::string> tests;
  for (const auto& entry : fs::recursive_directory_iterator(root / "tests")) {
    if (entry.path().extension() != ".cc") continue;
    tests.merge(Names(TextOf(entry.path()), std::regex(R"(TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\))")));
  }
  EXPECT_GT(tests.size(), 500U);
  const std::string page = TextOf(root / "docs/mistakes.md");
  const std::set<std::string> named = Names(page, std::regex(R"(`([A-Z]\w+)\.([A-Z]\w+)`)"));
  EXPECT_GE(named.size(), 24U);
  for (const std::string& name : named)
    EXPECT_EQ(tests.count(name), 1U) << name << " is in no file of tests/";
  for (int number = 1; number <= 24; ++number) {
    EXPECT_NE(page.find("\n| " + std::to_string(number) + " |"), std::string::npos) << number;
  }
}

}  // namespace
