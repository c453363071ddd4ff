#include <gtest/gtest.h>
#include <medley/base/error.h>
#include <medley/config/budget_request.h>

#include <string>

namespace medley {
namespace {

using Kind = BudgetRequest::Kind;

TEST(BudgetRequestTest, BytesFractionsAndNothing) {
  EXPECT_EQ(ParseBudget("").kind, Kind::kFree);
  EXPECT_EQ(ParseBudget("  ").kind, Kind::kFree);
  EXPECT_EQ(ParseBudget("free").kind, Kind::kFree);
  for (const auto& [text, bytes] : {std::pair{"6GiB", std::int64_t{6} << 30},
                                    {"6442450944", std::int64_t{6} << 30},
                                    {"1.5 MiB", 3 << 19},
                                    {" 500MB ", 500000000},
                                    {"2", 2},
                                    {"1e9", 1000000000},
                                    {"1B", 1}}) {
    EXPECT_EQ(ParseBudget(text).kind, Kind::kBytes) << text;
    EXPECT_EQ(ParseBudget(text).bytes, bytes) << text;
  }
  for (const auto& [text, fraction] :
       {std::pair{"0.5", 0.5}, {"50%", 0.5}, {"12.5 %", 0.125}, {"1", 1.0}, {"1.0", 1.0}, {"100%", 1.0}}) {
    EXPECT_EQ(ParseBudget(text).kind, Kind::kFraction) << text;
    EXPECT_DOUBLE_EQ(ParseBudget(text).fraction, fraction) << text;
  }
}

TEST(BudgetRequestTest, AnythingElseIsRefusedWithExamples) {
  for (const std::string text : {"0", "0%", "0GiB", "-1", "-5%", "101%", "1e400", "nan", "nan%", "inf",
                                 "half", "6 Gb/s", "%", "GiB", "1,5GiB", "0.5.5", "1e30", "99999999999GiB"}) {
    try {
      ParseBudget(text);
      ADD_FAILURE() << text << " was taken";
    } catch (const InputError& error) {
      const std::string words = error.what();
      EXPECT_NE(words.find("6GiB"), std::string::npos) << words;
      EXPECT_NE(words.find("50%"), std::string::npos) << words;
      EXPECT_NE(words.find("'" + text + "'"), std::string::npos) << words;
    }
  }
}

}  // namespace
}  // namespace medley
