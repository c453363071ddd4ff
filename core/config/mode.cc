#include <medley/config/mode.h>

#include <charconv>

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

std::optional<int> RecomputedLayers::every() const {
  if (layers_ == 0) return 0;
  return of_ % layers_ == 0 ? std::optional(of_ / layers_) : std::nullopt;
}

std::optional<RecomputedLayers> ParseRecomputedLayers(std::string_view fraction) {
  const auto line = fraction.find('/');
  if (line == std::string_view::npos) return std::nullopt;
  const auto number = [](std::string_view digits) {
    int value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && end == digits.data() + digits.size() ? value : -1;
  };
  const RecomputedLayers layers(number(fraction.substr(0, line)), number(fraction.substr(line + 1)));
  return layers.valid() ? std::optional(layers) : std::nullopt;
}

std::string Way::Words() const {
  std::string words(ModeName(mode));
  if (!recomputed.any()) return words;
  const std::optional<int> every = recomputed.every();
  return words + " + recompute " + (every ? std::to_string(*every) : recomputed.Fraction());
}

}  // namespace medley
