#pragma once

#include <string>
#include <string_view>

namespace medley {

// Unicode's normalization form C of valid UTF-8. Takes time linear in the text, but for the logarithm of a
// run of combining marks.
std::string NormalFormC(std::string_view text);

}  // namespace medley
