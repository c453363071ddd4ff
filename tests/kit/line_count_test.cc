// How much is left to an author: a task is this many lines, as clang-format leaves them, includes and spec
// counted.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

namespace medley {
namespace {

TEST(KitLines, StayAsFewAsWasPromised) {
  const std::map<std::string, std::ptrdiff_t> most{
      {"plugins/minimal/minimal.cc", 25},   {"plugins/picture/picture.cc", 50},
      {"tests/kit/plugins/strings.cc", 40}, {"tests/kit/plugins/discs.cc", 60},
      {"tests/kit/plugins/carried.cc", 60}, {"tests/kit/plugins/lines.cc", 40}};
  for (const auto& [path, lines] : most) {
    std::ifstream file(std::string(MEDLEY_SOURCE_DIR "/") + path);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    ASSERT_FALSE(text.empty()) << path;
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), lines) << path;
  }
}

}  // namespace
}  // namespace medley
