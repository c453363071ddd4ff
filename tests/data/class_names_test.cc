#include <medley/data/class_names.h>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/data/last_read.h>

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

TEST(ClassNames, ALabelThatIsNotUtf8IsRefusedWithThePlaceOfWhatWasReadLast) {
  EXPECT_EQ(ClassName("m\u00e4nnlich"), "m\u00e4nnlich");
  NoteFile("clips/a.json");
  try {
    ClassName("a\xff");
    FAIL() << "it was taken";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "clips/a.json: the label 'a\\xff' is not UTF-8");
  }
  ForgetRead();
}

TEST(ClassNames, NumbersGoByTheirValueAndWordsByTheirBytesBehindThem) {
  EXPECT_EQ(SortedClasses({"10", "9", "-1", "tree", "Tree", "0"}),
            (std::vector<std::string>{"-1", "0", "9", "10", "Tree", "tree"}));
}

TEST(ClassNames, ALabelThatIsNoneOfThemIsRefusedWithItsPlace) {
  const ClassTable classes({"4", "house", "tree"});
  EXPECT_EQ(classes.Require("tree", nullptr), 2);
  const auto refusal = [&](const std::string& name) -> std::string {
    try {
      classes.Require(name, [] { return "a.csv:2: labels"; });
      return "it was taken";
    } catch (const InputError& error) {
      return error.what();
    }
  };
  EXPECT_TRUE(refusal("hause").starts_with(
      "a.csv:2: labels: 'hause' is none of the run's 3 classes; did you mean 'house'? They are those of the"))
      << refusal("hause");
  EXPECT_TRUE(refusal("5").starts_with("a.csv:2: labels: '5' is none of the run's 3 classes. They"))
      << refusal("5");
}

}  // namespace
}  // namespace medley
