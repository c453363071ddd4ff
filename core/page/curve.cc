#include <medley/page/curve.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>

namespace medley {

double ValueAt(const Curve& curve, std::int64_t step) {
  const auto after = std::ranges::upper_bound(curve, step, {}, &CurvePoint::step);
  return after == curve.begin() ? 0 : std::prev(after)->value;
}

Curve Thinned(const Curve& curve, std::size_t stretches) {
  if (stretches == 0 || curve.size() <= 4 * stretches) return curve;
  Curve thin;
  const auto below = [](const CurvePoint& a, const CurvePoint& b) { return a.value < b.value; };
  for (std::size_t i = 0; i < stretches; ++i) {
    const auto begin = curve.begin() + static_cast<std::ptrdiff_t>(i * curve.size() / stretches);
    const auto end = curve.begin() + static_cast<std::ptrdiff_t>((i + 1) * curve.size() / stretches);
    std::array kept = {begin, std::min_element(begin, end, below), std::max_element(begin, end, below),
                       end - 1};
    std::ranges::sort(kept);
    for (const auto& point : kept) {
      if (thin.empty() || thin.back().step < point->step) thin.push_back(*point);
    }
  }
  return thin;
}

double Rounded(double value) {
  if (!std::isfinite(value)) return value;
  std::array<char, 32> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, 5).ptr;
  double rounded = 0;
  std::from_chars(text.data(), end, rounded);
  return rounded;
}

nlohmann::ordered_json JsonOf(const Curve& curve) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const auto& [step, value] : curve) json.push_back({step, Rounded(value)});
  return json;
}

}  // namespace medley
