#include <medley/report/label.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string_view>

namespace medley {
namespace {

constexpr std::int64_t kDots = 3, kLines = 5, kDotPixels = 2;
constexpr std::int64_t kStep = (kDots + 1) * kDotPixels;  // from a letter to the next
constexpr std::uint8_t kInk = 235;

// Each glyph is five octal digits, a line of three dots each, the left one worth four.
constexpr std::string_view kLetters =
    "25755"
    "65656"
    "34443"
    "65556"
    "74647"
    "74644"
    "34553"
    "55755"
    "72227"
    "11152"
    "55655"
    "44447"
    "57755"
    "65555"
    "25552"
    "65644"
    "25563"
    "65655"
    "34216"
    "72222"
    "55557"
    "55552"
    "55775"
    "55255"
    "55222"
    "71247";
constexpr std::string_view kDigits =
    "75557"
    "26227"
    "71747"
    "71317"
    "55711"
    "74717"
    "74757"
    "71122"
    "75757"
    "75717";
constexpr std::string_view kSigns = "_-./%";
constexpr std::string_view kSignGlyphs =
    "00007"
    "00700"
    "00002"
    "11244"
    "51245";
constexpr std::string_view kBlank = "00000";

std::string_view GlyphOf(char c) {
  const auto at = [](std::string_view glyphs, std::size_t place) {
    return glyphs.substr(place * kLines, kLines);
  };
  const auto byte = static_cast<unsigned char>(c);
  if (c >= '0' && c <= '9') return at(kDigits, c - '0');
  if (byte < 128 && std::isalpha(byte) != 0) return at(kLetters, std::tolower(byte) - 'a');
  const std::size_t sign = kSigns.find(c);
  return sign == std::string_view::npos ? kBlank : at(kSignGlyphs, sign);
}

}  // namespace

Picture MakeLabel(const std::string& text) {
  Picture label(std::max<std::int64_t>(1, static_cast<std::int64_t>(text.size()) * kStep - kDotPixels),
                kLines * kDotPixels, kSheetGround);
  const Picture dot(kDotPixels, kDotPixels, kInk);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view glyph = GlyphOf(text[i]);
    for (std::int64_t y = 0; y < kLines; ++y) {
      for (std::int64_t x = 0; x < kDots; ++x) {
        if (((glyph[y] - '0') >> (kDots - 1 - x) & 1) == 0) continue;
        label.Paste(dot, static_cast<std::int64_t>(i) * kStep + x * kDotPixels, y * kDotPixels);
      }
    }
  }
  return label;
}

}  // namespace medley
