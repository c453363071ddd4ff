#pragma once

#include <medley/plugin/task_info.h>
#include <medley/step/passes/pass_runner.h>
#include <medley/step/roots.h>

namespace medley {

// Adds the gradient of a micro-batch whose passes carry something, with one pass's graph alive at a time.
// First the passes that make carries, without graphs; of these only the carries are kept. Then every pass
// from the last to the first, with its graph and with the carries as leaves: what a pass made goes backward
// from its terms and from the gradients that all later readers left in its carries. Exact, and one more
// forward of each pass that makes a carry. Otherwise as RunMode, which calls it.
void RunTwoStage(MicroBatch& micro, const VariantInfo& variant, Roots& roots);

}  // namespace medley
