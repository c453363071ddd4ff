#pragma once

#include <medley/config/mode.h>
#include <medley/plugin/task_info.h>
#include <medley/step/passes/pass_runner.h>
#include <medley/step/roots.h>

namespace medley {

// Runs all passes of a micro-batch, forward and backward, in the order of the mode. Trainer's thread. A throw
// may come between two backwards: gradients then hold a part of the micro-batch, and the engine what was left
// to do (AbandonStep lets go of both).
void RunMode(Mode mode, MicroBatch& micro, const VariantInfo& variant, Roots& roots);

}  // namespace medley
