#include <medley/text/normal_form.h>

#include <gtest/gtest.h>
#include <utf8proc.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include <medley/base/random.h>

namespace medley {
namespace {

// The library's own way, which takes time quadratic in a run of marks.
std::string ByTheLibrary(const std::string& text) {
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> normal(
      utf8proc_NFC(reinterpret_cast<const utf8proc_uint8_t*>(text.c_str())), &std::free);
  return reinterpret_cast<const char*>(normal.get());
}

TEST(NormalFormC, IsTheLibrarysForRandomTexts) {
  // Letters that compose, marks of several classes, Hangul, what is excluded from compositions, what
  // decomposes to several.
  const std::vector<std::string> parts = {
      "a",      "e",      "D",      "q",          " ",      "1",      "\u0323", "\u0307", "\u0301",
      "\u0344", "\u0345", "\u1100", "\u1161",     "\u11a8", "\uac00", "\uac01", "\u0958", "\u212b",
      "\ufb2c", "\u1f82", "\u0f73", "\U0001d15e", "\u00e9", "\u1e0c", "\u4f60", "\u3099", "\u304b"};
  RowRandom random(5);
  int changed = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (std::int64_t length = random.Below(12); length > 0; --length)
      text += parts[static_cast<std::size_t>(random.Below(std::ssize(parts)))];
    ASSERT_EQ(NormalFormC(text), ByTheLibrary(text)) << text;
    changed += NormalFormC(text) == text ? 0 : 1;
  }
  EXPECT_GT(changed, 5'000);
}

TEST(NormalFormC, LeavesPlainTextsAlone) {
  for (const char* text : {"", "plain", "caf\u00e9 \u02af"}) EXPECT_EQ(NormalFormC(text), text);
}

TEST(NormalFormC, OrdersAMegabyteOfMarks) {
  std::string text = "e", ordered = "\u1eb9";  // with a dot below
  for (int i = 0; i < 200'000; ++i) text += i % 2 == 0 ? "\u0301" : "\u0323";
  for (int i = 0; i < 99'999; ++i) ordered += "\u0323";
  for (int i = 0; i < 100'000; ++i) ordered += "\u0301";
  EXPECT_EQ(NormalFormC(text), ordered);  // by swaps of neighbours: hours
}

}  // namespace
}  // namespace medley
