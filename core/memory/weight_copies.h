#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include <medley/model/model.h>

namespace medley {

// Notices whole copies of a model's weights: a model that was built twice, weights that are cloned at every
// update and kept. It looks for live CPU blocks of the parameters' sizes, beyond those that lived when it was
// made. (What libtorch says about a GPU without CUDA's headers has no sizes: there it sees nothing.)
//
// Make it between two steps, when the optimizer has its state and no gradient lives; ask it then too. There
// is one in a process: a new one takes over.
class WeightCopies {
 public:
  explicit WeightCopies(const Model& model);
  ~WeightCopies();
  WeightCopies(const WeightCopies&) = delete;
  WeightCopies& operator=(const WeightCopies&) = delete;

  std::int64_t bytes() const { return bytes_; }  // of the model's weights
  // How often nine tenths of the weights live more than before.
  std::int64_t Count() const;

 private:
  std::map<std::int64_t, std::int64_t> blocks_;  // by size: how many parameters are so large
  std::int64_t bytes_ = 0;
};

}  // namespace medley
