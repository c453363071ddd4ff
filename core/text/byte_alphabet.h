#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace medley {

// A byte-level vocabulary spells each byte as one visible character, in the way of GPT-2's: the visible ones
// of Latin-1 are themselves, the others are U+0100 and on, in order. A space is U+0120.

// The bytes that a token spells; none where one of its characters stands for no byte.
std::optional<std::string> BytesOfToken(std::string_view token);

}  // namespace medley
