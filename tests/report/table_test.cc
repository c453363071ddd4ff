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
  table.Spares({"of the weight"}).Breaks("what it does all day");
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
  EXPECT_NE(narrowest.find("größter Tausendfüßler  1306"), std::string::npos)
      << "what it cannot do without stays whole: " << narrowest;
}

// Numbers without the column that names them are numbers of nothing.
TEST(Table, NeverSparesItsFirstTwoColumns) {
  const std::vector<std::string> header = {"task", "score", "value", "rows"};
  for (const std::string& stays : {header[0], header[1]}) {
    try {
      Table(header).Spares({"rows", stays});
      FAIL() << stays;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("'" + stays + "'"), std::string::npos) << error.what();
    }
  }
  Table table(header);
  table.Spares({"rows", "value"});
  table.Add({"zoom_gold", "error", "0.5", "32"});
  EXPECT_EQ(table.ToText(4),
            "task       score\nzoom_gold  error\n(no\n  room\n  for:\n  rows,\n  value;\n  --wide\n  shows\n "
            " all)\n");
}

TEST(Table, ALineARowBreaksAColumnOnlyOnceAllSparesAreGone) {
  const auto made = [](bool last) {
    Table table({"task", "score", "beside", "rows"}, 2);
    table.Spares({"rows"});
    last ? table.BreaksLast("beside") : table.Breaks("beside");
    table.Add({"position_qa", "accuracy", "most frequent answer 0.123", "512"});
    return table;
  };
  EXPECT_EQ(Widest(made(true).ToText(100)), 55u);
  EXPECT_TRUE(made(true).ToText(53).find("most frequent answer 0.123\n(no room for: rows") !=
              std::string::npos)
      << made(true).ToText(53);
  EXPECT_TRUE(made(false).ToText(53).find("512") != std::string::npos) << made(false).ToText(53);
  const std::string narrow = made(true).ToText(45);
  EXPECT_LE(Widest(narrow), 45u) << narrow;
  EXPECT_NE(narrow.find("0.123"), std::string::npos) << narrow;
}

// Whatever the width, nothing is cut off and no word is broken.
TEST(Table, OfEveryWidthHasAllWordsOfItsColumns) {
  for (std::size_t columns = 46; columns < 110; ++columns) {
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
