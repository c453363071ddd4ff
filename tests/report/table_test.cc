#include <medley/report/table.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include <medley/base/error.h>

namespace medley {
namespace {

std::size_t Widest(const std::string& text) {
  std::size_t widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, TextWidth(line));
  return widest;
}

Table Animals() {
  Table table({"animal", "legs at most", "of the weight", "what it does all day"});
  table.Spares({"of the weight", "legs at most"}).Breaks("what it does all day");
  table.Add({"horse", "4", "12.5 %", "stands in the meadow and looks at the fence"});
  table.Add({"größter Tausendfüßler", "1306", "0.1 %", std::string("walks") + kNoBreak + "on"});
  return table;
}

TEST(Table, StandsAsItIsWhereThereIsRoom) {
  EXPECT_EQ(
      Animals().ToText(100),
      "animal                 legs at most  of the weight  what it does all day\n"
      "horse                             4         12.5 %  stands in the meadow and looks at the fence\n"
      "größter Tausendfüßler          1306          0.1 %  walks on\n");
}

TEST(Table, BreaksItsHeaderFirstThenTheColumnThatMay) {
  EXPECT_EQ(Animals().ToText(88),
            "                       legs\n"
            "                         at  of the\n"
            "animal                 most  weight  what it does all day\n"
            "horse                     4  12.5 %  stands in the meadow and looks at the fence\n"
            "größter Tausendfüßler  1306   0.1 %  walks on\n")
      << Animals().ToText(88);
  const std::string narrow = Animals().ToText(60);
  EXPECT_LE(Widest(narrow), 60u) << narrow;
  EXPECT_NE(narrow.find("12.5 %"), std::string::npos) << narrow;
  EXPECT_NE(narrow.find("stands in the"), std::string::npos) << narrow;
  EXPECT_EQ(narrow.find("no room for"), std::string::npos) << narrow;
}

TEST(Table, ThenItsColumnsOfLeastUseGoAndAreNamed) {
  const std::string narrow = Animals().ToText(46);
  EXPECT_LE(Widest(narrow), 46u) << narrow;
  EXPECT_NE(narrow.find("1306"), std::string::npos) << narrow;
  EXPECT_EQ(narrow.find("12.5"), std::string::npos) << narrow;
  EXPECT_NE(narrow.find("(no room for: of the weight; --wide"), std::string::npos) << narrow;
  const std::string narrowest = Animals().ToText(20);
  EXPECT_EQ(narrowest.find("1306"), std::string::npos);
  EXPECT_NE(narrowest.find("Tausendfüßler"), std::string::npos) << "what it cannot do without stays whole";
}

// Whatever the width, nothing is cut off and no word is broken.
TEST(Table, OfEveryWidthHasAllWordsOfItsColumns) {
  for (std::size_t columns = 40; columns < 110; ++columns) {
    const std::string text = Animals().ToText(columns);
    EXPECT_LE(Widest(text), columns) << text;
    for (const char* word :
         {"horse", "größter Tausendfüßler", "stands", "in", "the", "meadow", "fence", "walks on"})
      EXPECT_NE(text.find(word), std::string::npos) << columns << ": " << word << "\n" << text;
  }
}

TEST(Table, RefusesColumnsThatItHasNot) {
  EXPECT_THROW(Table({"a"}).Spares({"b"}), Error);
  EXPECT_THROW(Table({"a"}).Breaks("b"), Error);
  EXPECT_THROW(Table({"a", "b"}).Add({"1"}), Error);
}

}  // namespace
}  // namespace medley
