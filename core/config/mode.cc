#include <medley/config/mode.h>

namespace medley {

std::vector<std::string_view> ModeNames() {
  std::vector<std::string_view> names;
  for (const ModeTraits& traits : kModes) names.push_back(traits.name);
  return names;
}

std::optional<Mode> ParseMode(std::string_view name) {
  for (const ModeTraits& traits : kModes) {
    if (traits.name == name) return traits.mode;
  }
  return std::nullopt;
}

std::string Way::Words() const {
  std::string words(ModeName(mode));
  if (recompute_every > 0) words += " + recompute " + std::to_string(recompute_every);
  return words;
}

}  // namespace medley
