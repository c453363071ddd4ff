#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <medley/memory/live_blocks.h>
#include <medley/model/model.h>

namespace medley {

// Notices whole copies of a model's weights: a model that was built twice, weights that are cloned at every
// update and kept. It looks for live blocks of the parameters' sizes, beyond those that lived when it was
// made.
//
// Make it between two steps, when the optimizer has its state and no gradient lives; ask it then too. It
// keeps sizes, not the model.
class WeightCopies {
 public:
  // `weights`: how many storages of the parameters are how large. `floor`: bytes in use now. Without `blocks`
  // it sees nothing.
  WeightCopies(BlocksBySize weights, std::unique_ptr<LiveBlocks> blocks, std::int64_t floor);

  std::int64_t bytes() const { return bytes_; }  // of the model's weights
  bool watching() const { return blocks_ != nullptr; }
  // Counts how often nine tenths of the weights live more than before, with so many bytes in use. To be asked
  // after every step; it looks at the blocks where the floor has room for a copy, and then again when the
  // floor moved by a tenth of the weights, or after 100 steps: on a GPU a look costs more than a few
  // additions.
  std::int64_t Count(std::int64_t floor);

 private:
  bool ShouldLook(std::int64_t floor);

  BlocksBySize weights_, before_;
  std::unique_ptr<LiveBlocks> blocks_;
  std::int64_t bytes_ = 0, first_floor_, copies_ = 0;
  std::optional<std::int64_t> looked_at_;  // the floor at the last look
  std::int64_t steps_since_ = 0;
};

// Says that copies are not watched, and why; "" where they are.
std::string BlindnessOf(const WeightCopies& copies);

// Watches the weights of a model on a device from now on. There is one watch on the CPU at a time: a new one
// takes over.
WeightCopies WatchWeights(const Model& model, at::Device device);

}  // namespace medley
