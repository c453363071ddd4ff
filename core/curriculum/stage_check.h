#pragma once

#include <medley/config/config_file.h>
#include <medley/curriculum/curriculum.h>

namespace medley {

// Reports what one value of a weights file alone does not show: weights, stages, conditions and settings that
// do not fit each other, and of a user's file what would have no effect.
void CheckCurriculum(ConfigFile& file, const Curriculum& curriculum, WeightsOf whose);

// Reports what a run cannot begin with, and may get while it goes on: a ramp of the first stage.
void CheckBeginning(ConfigFile& file, const Curriculum& curriculum);

}  // namespace medley
