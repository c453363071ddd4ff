#pragma once

#include <medley/config/mode.h>
#include <medley/plugin/task_info.h>
#include <medley/step/passes/pass_runner.h>
#include <medley/step/roots.h>

namespace medley {

// Runs all passes of a micro-batch, forward and backward, in the order of the mode. Adds to the parameters'
// gradients; an exception leaves them undefined, and AbandonStep to let go of the rest.
void RunMode(Mode mode, MicroBatch& micro, const VariantInfo& variant, Roots& roots);

}  // namespace medley
