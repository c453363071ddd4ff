// How much is left to an author: a task is this many lines, as clang-format leaves them, includes and spec
// counted.
#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <map>
#include <string>

namespace medley {
namespace {

std::ptrdiff_t LinesOf(const std::string& path, bool with_blank) {
  std::ifstream file(std::string(MEDLEY_SOURCE_DIR "/") + path);
  std::ptrdiff_t lines = 0;
  for (std::string line; std::getline(file, line);) lines += with_blank || !line.empty() ? 1 : 0;
  EXPECT_GT(lines, 0) << path;
  return lines;
}

TEST(KitLines, StayAsFewAsWasPromised) {
  const std::map<std::string, std::ptrdiff_t> most{
      {"plugins/minimal/minimal.cc", 25},   {"plugins/picture/picture.cc", 50},
      {"tests/kit/plugins/strings.cc", 40}, {"tests/kit/plugins/discs.cc", 60},
      {"tests/kit/plugins/carried.cc", 60}, {"tests/kit/plugins/lines.cc", 40},
      {"tests/kit/plugins/talk.cc", 20},    {"tests/kit/plugins/pairs.cc", 22}};
  for (const auto& [path, lines] : most) EXPECT_LE(LinesOf(path, /*with_blank=*/true), lines) << path;
  // What an author outside needed 34, 102 and 108 lines for.
  const std::map<std::string, std::ptrdiff_t> most_of_authors{
      {"datenorm", 25}, {"recallboxes", 60}, {"spring", 60}};
  for (const auto& [name, lines] : most_of_authors)
    EXPECT_LE(LinesOf("tests/kit/plugins/" + name + ".cc", /*with_blank=*/false), lines) << name;
}

}  // namespace
}  // namespace medley
