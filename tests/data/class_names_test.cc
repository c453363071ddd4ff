#include <medley/data/class_names.h>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <medley/base/error.h>

namespace medley {
namespace {

TEST(ClassNames, WholeNumbersAreOneNameHoweverTheyAreWritten) {
  for (const char* label : {"7", " 7\t", "07", "7.0", "7.", "7.00"})
    EXPECT_EQ(ClassName(label), "7") << label;
  EXPECT_EQ(ClassName("-0"), "0");
  for (const char* label : {"7.5", "7a", "7e1", ".0", "99999999999999999999", "two words"})
    EXPECT_EQ(ClassName(label), label);
  EXPECT_EQ(ClassName(" \r\n"), "");
}

TEST(ClassNames, NumbersGoByTheirValueAndWordsByTheirBytesBehindThem) {
  EXPECT_EQ(SortedClasses({"10", "9", "-1", "tree", "Tree", "0"}),
            (std::vector<std::string>{"-1", "0", "9", "10", "Tree", "tree"}));
}

TEST(ClassNames, ALabelThatIsNoneOfThemIsRefusedWithItsPlace) {
  const ClassTable classes({"4", "house", "tree"});
  EXPECT_EQ(classes.Require("tree", "a.csv:2: labels"), 2);
  const auto refusal = [&](const std::string& name) -> std::string {
    try {
      classes.Require(name, "a.csv:2: labels");
      return "it was taken";
    } catch (const InputError& error) {
      return error.what();
    }
  };
  EXPECT_TRUE(refusal("hause").starts_with(
      "a.csv:2: labels: 'hause' is none of the run's 3 classes; did you mean 'house'? They are those of its"))
      << refusal("hause");
  EXPECT_TRUE(refusal("5").starts_with("a.csv:2: labels: '5' is none of the run's 3 classes. They"))
      << refusal("5");
}

}  // namespace
}  // namespace medley
