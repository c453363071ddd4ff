#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace medley {

// The tokens that every vocabulary has, in the order of their ids.
inline constexpr std::array<std::string_view, 7> kSpecialTokens = {
    "<pad>", "<eos>", "<forward>", "<clock>", "<anticlock>", "<image>", "</image>"};

// What they are called in a vocabulary that was not made by medley, by medley's names; the others have
// defaults.
using SpecialTokenNames = std::map<std::string, std::string, std::less<>>;

// What stands in front of image `number` (from 1), and behind each.
inline std::string ImageLabel(std::size_t number) {
  std::string label = number == 1 ? "" : "\n";
  return label.append("Image ").append(std::to_string(number)).append(":<image>");
}
inline constexpr std::string_view kImageEnd = "</image>";

}  // namespace medley
