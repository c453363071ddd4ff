#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include <medley/step/master_weights.h>

namespace medley {

// What the name of a parameter's average ends in, behind the parameter's.
inline constexpr const char* kAverageOf = ".average";

// For as long as it lives, a model computes with other values than its weights: their averages, or where a
// jump would take them. Afterwards it has its weights, bit for bit, whatever is thrown meanwhile. Between two
// steps, or for the gradients of one; nobody writes weights or saves them meanwhile.
class LentWeights {
 public:
  // The masters of the weights outlive it.
  explicit LentWeights(const MasterWeights& masters) : masters_(&masters) {}
  LentWeights(LentWeights&& other) noexcept;
  ~LentWeights();

  // A parameter has these values from now on; once each. Values of its own type are lent with their memory,
  // and stay as they are meanwhile; others are rounded into it, where it has a master. An Error for another
  // shape.
  void Lend(const at::Tensor& parameter, const at::Tensor& values);

 private:
  std::vector<at::Tensor> parameters_, own_;  // `own_`: their weights; undefined where they have masters
  const MasterWeights* masters_;
};

}  // namespace medley
