#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace medley {

// The bytes of the character at the front of a text that is not empty; 0 where they are not UTF-8 (also
// surrogates and longer forms than needed).
std::size_t Utf8Length(std::string_view text);

// The text with U+FFFD for every byte that belongs to no UTF-8 character: fit for JSON and for a terminal.
std::string ValidUtf8(std::string_view text);

// The text, or where it is longer than `most` bytes, as many of them as are whole characters, and "...".
std::string CutText(std::string_view text, std::size_t most);

}  // namespace medley
