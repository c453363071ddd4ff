#pragma once

#include <cstdint>
#include <vector>

#include <medley/data/item_stream.h>
#include <medley/task/drivers/row.h>

#include "pose/clip.h"

namespace medley_signs {

// The clips of files, or made-up ones.
class ClipSource {
 public:
  virtual ~ClipSource() = default;
  virtual Clip Draw(medley::Row& row) const = 0;
  // Of files: see medley::Task and medley::ClassifyTask.
  virtual const medley::ItemStream* Items() const { return nullptr; }
  virtual std::vector<std::int64_t> TrainingCounts() const { return {}; }
};

}  // namespace medley_signs
