#pragma once

#include <cstdint>
#include <string_view>

namespace medley {

// XXH3-64 of an item's own bytes: of a line, of a row of a table, of a group's name. By it an item is held
// out or not, so it is the same on every machine and stays so for ever.
std::uint64_t HashItem(std::string_view bytes);

}  // namespace medley
