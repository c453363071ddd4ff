#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <medley/curriculum/mixture.h>

namespace medley {

// What the mixer remembers: integers only, so that a resume is exact on every machine.
struct MixerTask {
  // In 2^-32 units; 128 bits, because tokens times rows may pass 2^31.
  using Owed = __int128;

  std::string name;
  std::int64_t share = 0;         // of the next draw, of 2^32; 0: paused
  std::int64_t from = 0, to = 0;  // where the ramp began, and the mixture's
  std::int64_t cards = 0;         // in the urn; 0 in deficit order
  Owed owed = 0;                  // due minus trained; adds up to 0 over the tasks with a share
  Owed asked = 0;                 // since the accounts were opened, in the unit of `owed`
  std::int64_t charged = 0;       // since then
  std::int64_t rows = 0;          // since the run began: the task's next row
  std::int64_t draws = 0;         // since the run began

  // What the next draw costs, from its TaskSize; not saved.
  std::int64_t batch_rows = 0;
  std::int64_t batch_charge = 0;
};

struct MixerState {
  std::vector<MixerTask> tasks;  // the mixture's in its order, then those that it does not name
  std::uint64_t seed = 0;
  Ramp ramp;                   // to the mixture's weights
  std::int64_t ramped = 0;     // draws of it so far; ramp.draws: it is over
  std::int64_t urn_epoch = 0;  // changes of weights so far: each starts a new urn
  std::int64_t urn_drawn = 0;  // cards drawn in this epoch
  // The order of the cards of one filling; a cache, made again after a load.
  std::shared_ptr<const std::vector<std::uint32_t>> urn;
  std::int64_t urn_filling = -1;
};

}  // namespace medley
