#pragma once

#include <cmath>
#include <numbers>

#include <medley/base/random.h>

namespace medley_signs {

// Normal around 0 with deviation 1 (Box and Muller 1958).
inline double Gaussian(medley::RowRandom& random) {
  const double radius = std::sqrt(-2 * std::log(1 - random.Uniform()));
  const double angle = random.Uniform(0, 2 * std::numbers::pi);
  return radius * std::cos(angle);
}

}  // namespace medley_signs
