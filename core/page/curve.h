#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

namespace medley {

// A number by step; steps ascend.
struct CurvePoint {
  std::int64_t step = 0;
  double value = 0;
};
using Curve = std::vector<CurvePoint>;

// The last value up to and with that step; 0 before the first.
double ValueAt(const Curve& curve, std::int64_t step);

// A curve that looks the same in a picture that is `stretches` columns wide: of each stretch of points its
// first, least, largest and last, in their order, so that peaks stay. At most four times as many points as
// stretches.
Curve Thinned(const Curve& curve, std::size_t stretches);

// [[step, value], ...], values to five digits; what is not finite is written as null.
nlohmann::ordered_json JsonOf(const Curve& curve);

// To five digits.
double Rounded(double value);

}  // namespace medley
