#pragma once

#include <cstddef>

#include <medley/config/config_file.h>
#include <medley/curriculum/curriculum.h>

namespace medley {

// Where a run is in its curriculum.
struct StagePlace {
  std::size_t number = 0;  // of the present stage; as many as there are: all are over
  bool cools = false;      // a step of its cooldown was trained
};

// Reports, where it stands in the file of `next`, what of it a run that goes on from `before` cannot take
// over: another unit or order, other stages in the past, and of the present one anything but its weights,
// ramp, until, cooldown, keep and eval_every; those of its end not once a step of its
// cooldown was trained.
void CheckWhatStays(ConfigFile& file, const Curriculum& before, const Curriculum& next,
                    const StagePlace& place);

}  // namespace medley
