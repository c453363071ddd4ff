#include <medley/base/newer.h>

#include <gtest/gtest.h>

#include "tests/words.h"

namespace medley {
namespace {

using nlohmann::json;

std::string WordsOf(const json& object, const std::string& otherwise = "") {
  return test::MessageOf<NewerError>([&] { RefuseNewer(object, "format", 2, "a.json", otherwise); });
}

TEST(Newer, SaysWhichNumberItHasWhichIsReadAndWhatToDo) {
  EXPECT_EQ(WordsOf({{"format", 3}}),
            "a.json is of a newer medley (format 3, this one reads 2). Use that medley");
  EXPECT_EQ(WordsOf({{"format", 3}}, "remove it"),
            "a.json is of a newer medley (format 3, this one reads 2). Use that medley, or remove it");
  EXPECT_EQ(NewerError("a", "b").code(), ExitCode::kBadInput);
}

TEST(Newer, LeavesAllElseToTheReader) {
  for (const json& object : {json(), json::array(), json("x"), json::object(), json({{"format", 2}}),
                             json({{"format", 1}}), json({{"format", -9}}), json({{"format", "3"}}),
                             json({{"format", 2.5}}), json({{"format", UINT64_MAX}})})
    EXPECT_EQ(WordsOf(object), "") << object;
}

TEST(Newer, VersionsAreComparedByTheirNumbers) {
  EXPECT_TRUE(IsLaterVersion("0.10.0", "0.9.1"));
  EXPECT_TRUE(IsLaterVersion("1.0.0", "0.9.9"));
  EXPECT_TRUE(IsLaterVersion("0.2.1", "0.2.0"));
  EXPECT_TRUE(IsLaterVersion("0.2.1.dev3", "0.2.0"));
  for (const char* version : {"0.2.0", "0.2", "0.1.9", "", "?", "0.2.0.dev1"})
    EXPECT_FALSE(IsLaterVersion(version, "0.2.0")) << version;
  EXPECT_FALSE(IsLaterVersion(Version()));
}

}  // namespace
}  // namespace medley
