#pragma once

#include <ATen/core/Tensor.h>

#include <medley/model/model.h>

namespace medley {

// Lets go of what an exception inside a step leaves behind (gradients, graphs in the engine's queues, work
// that the device has not done yet, memory that its allocator keeps), in the order in which that is possible
// when memory ran out. To be called on the step's thread, after the exception was caught and everything else
// of the step is gone. Where the device itself failed it throws what that throws.
void AbandonStep(const Model& model, at::Device device);
// Does the same where no backward was under way: after an evaluation.
void AbandonForward(at::Device device);

// Frees the graphs that an exception inside a backward left in this thread's queue of the engine, and in that
// of a GPU's thread.
void DrainEngine(at::Device device = at::kCPU);

}  // namespace medley
