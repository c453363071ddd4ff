#include <medley/text/byte_alphabet.h>

#include <array>

#include <medley/base/utf8.h>

namespace medley {
namespace {

constexpr std::size_t kCharacters = 0x144;  // the last byte without a character of its own is 0xad: U+0143

bool IsItself(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

// By character: its byte, -1 where it is none's.
std::array<int, kCharacters> Bytes() {
  std::array<int, kCharacters> bytes{};
  bytes.fill(-1);
  std::size_t next = 0x100;
  for (int byte = 0; byte < 256; ++byte) bytes.at(IsItself(byte) ? byte : next++) = byte;
  return bytes;
}

}  // namespace

std::optional<std::string> BytesOfToken(std::string_view token) {
  static const std::array<int, kCharacters> kBytes = Bytes();
  std::string bytes;
  while (!token.empty()) {
    const std::size_t length = Utf8Length(token);
    if (length != 1 && length != 2) return std::nullopt;
    const auto lead = static_cast<unsigned char>(token[0]);
    const std::size_t character =
        length == 1 ? lead : (lead & 0x1fU) << 6 | (static_cast<unsigned char>(token[1]) & 0x3fU);
    if (character >= kCharacters || kBytes.at(character) < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(kBytes.at(character)));
    token.remove_prefix(length);
  }
  return bytes;
}

}  // namespace medley
