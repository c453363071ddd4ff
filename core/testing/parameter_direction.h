#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>
#include <vector>

#include <medley/model/model.h>
#include <medley/testing/gradients.h>

namespace medley::check {

// A direction in the space of a model's trained parameters, a function of the seed, of about their own size.
// Puts the parameters back, bit for bit, when it goes.
class ParameterDirection {
 public:
  explicit ParameterDirection(const Model& model, std::uint64_t seed = 3);
  ~ParameterDirection() { Move(0); }
  ParameterDirection(const ParameterDirection&) = delete;
  ParameterDirection& operator=(const ParameterDirection&) = delete;

  // The parameters are where they were, and so far along the direction.
  void Move(double step);
  // How fast a sum with this gradient grows along the direction, and the norm of what that is added up of.
  std::pair<double, double> Along(const Gradient& gradient) const;

 private:
  struct One {
    at::Tensor tensor, value, direction;
  };
  std::vector<One> all_;  // as the model's list; a frozen one has no direction
};

}  // namespace medley::check
