#pragma once

#include <functional>
#include <optional>

namespace medley {

// How fast a value changes with a step, where that is clearly not what its gradient says: `along`, which is
// added up of parts of the norm `size`. Nothing where the two agree to a ten-thousandth; nor where there is a
// kink (a ReLU of 0), where no step changes anything, or where steps of three sizes do not agree what the
// change is, which a kink or a rounding in between may do.
std::optional<double> OtherChange(const std::function<double(double step)>& value, double along, double size);

}  // namespace medley
