#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <medley/curriculum/mixer.h>
#include <medley/train/run.h>
#include <medley/train/step_executor.h>

namespace medley {

// Turns draws into rows: loads a task when it is drawn first, holds it against its spec then, and samples.
class DrawRows {
 public:
  explicit DrawRows(Run& run) : run_(run) {}

  // The rows of a step on the CPU, and the pieces that refer to them.
  struct Rows {
    std::deque<Batch> batches;
    std::vector<StepExecutor::Piece> pieces;
  };
  // Errors name plugin, task and phase.
  Rows Take(const std::vector<Draw>& draws);

 private:
  LoadedTask& Checked(const Draw& draw);
  RowRange RangeOf(const Draw& draw, std::int64_t rows) const;

  Run& run_;
  std::set<std::string> checked_;
};

}  // namespace medley
