#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include <medley/step/master_weights.h>

namespace medley {

// What the name of a parameter's average ends in, behind the parameter's.
inline constexpr const char* kAverageOf = ".average";

// For as long as it lives, a model computes with the averages of its weights; afterwards with the weights,
// bit for bit, whatever is thrown meanwhile. To be used between two steps; nobody writes weights or saves
// them meanwhile.
class AveragedWeights {
 public:
  // `averages`: of the parameters, in their order, in float at least; both empty: nothing changes. Keeps the
  // reference.
  AveragedWeights(std::vector<at::Tensor> parameters, const std::vector<at::Tensor>& averages,
                  const MasterWeights& masters);
  ~AveragedWeights();
  AveragedWeights(const AveragedWeights&) = delete;
  AveragedWeights& operator=(const AveragedWeights&) = delete;

 private:
  std::vector<at::Tensor> parameters_, own_;  // `own_`: their weights; undefined where they have masters
  const MasterWeights& masters_;
};

}  // namespace medley
