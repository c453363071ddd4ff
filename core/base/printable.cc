#include <medley/base/printable.h>

#include <algorithm>
#include <cstddef>

#include <medley/base/utf8.h>

namespace medley {
namespace {

constexpr char kHex[] = "0123456789abcdef";

// The code point of a character of two or three bytes; of others 0, as none of those is unprintable.
unsigned CodePoint(std::string_view character) {
  const auto bits = [&](std::size_t i, unsigned mask) {
    return static_cast<unsigned char>(character[i]) & mask;
  };
  if (character.size() == 2) return bits(0, 0x1f) << 6 | bits(1, 0x3f);
  if (character.size() == 3) return bits(0, 0x0f) << 12 | bits(1, 0x3f) << 6 | bits(2, 0x3f);
  return 0;
}

// C1 controls, separators of lines and paragraphs, embeddings, overrides and isolates of direction.
bool IsUnseen(unsigned code) {
  return (code >= 0x80 && code <= 0x9f) || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

// \u007f and not \x7f: JSON that is printed stays the same JSON, where 0x7f and what is above may stand as it
// is.
std::string ByCode(unsigned code) {
  return {'\\', 'u', kHex[code >> 12], kHex[code >> 8 & 15], kHex[code >> 4 & 15], kHex[code & 15]};
}

std::string ByByte(unsigned char byte) { return {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]}; }

std::string WithEscapes(std::string_view text, std::string_view kept) {
  std::string out;
  while (!text.empty()) {
    const auto first = static_cast<unsigned char>(text.front());
    const std::size_t length = std::max<std::size_t>(Utf8Length(text), 1);
    const std::string_view character = text.substr(0, length);
    if (first == 0x7f || (length > 1 && IsUnseen(CodePoint(character))))
      out += ByCode(length > 1 ? CodePoint(character) : first);
    else if ((first < 0x20 && kept.find(text.front()) == kept.npos) || (first >= 0x80 && length == 1))
      out += ByByte(first);
    else
      out += character;
    text.remove_prefix(length);
  }
  return out;
}

}  // namespace

std::string Printable(std::string_view text) { return WithEscapes(text, ""); }
std::string PrintableLines(std::string_view text) { return WithEscapes(text, "\n\t"); }

}  // namespace medley
