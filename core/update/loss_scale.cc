#include <medley/update/loss_scale.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace medley {

bool LossScale::Halve() {
  if (!CanHalve()) return false;
  now_ /= 2;
  steps_ = 0;
  return true;
}

void LossScale::Updated() {
  if (!on_ || ++steps_ < kStepsToDouble) return;
  steps_ = 0;
  if (now_ < kMost) now_ *= 2;
}

nlohmann::json LossScale::Save() const { return {{"scale", now_}, {"steps", steps_}}; }

void LossScale::Load(const nlohmann::json& state) {
  const auto scale = state.at("scale").get<double>();
  const auto steps = state.at("steps").get<std::int64_t>();
  int exponent = 0;
  if (!(scale >= 1 && scale <= kMost) || std::frexp(scale, &exponent) != 0.5 || steps < 0)
    throw std::out_of_range("loss_scale: expected a power of two from 1 to 16777216");
  if (on_) now_ = scale, steps_ = steps;
}

}  // namespace medley
