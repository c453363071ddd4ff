#pragma once

#include <array>
#include <string_view>

namespace medley {

// The tokens that every vocabulary has, in the order of their ids.
inline constexpr std::array<std::string_view, 7> kSpecialTokens = {
    "<pad>", "<eos>", "<forward>", "<clock>", "<anticlock>", "<image>", "</image>"};

}  // namespace medley
