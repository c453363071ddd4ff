#pragma once

#include <ATen/core/Tensor.h>

namespace medley {

// For backward functions that can add to a parameter's gradient while they make it, where the engine would
// be handed another tensor and add that. Parameters of a GPU: the engine has one thread for it.

// What the running backward has summed of the leaf's gradient; null where there is none yet, and where the
// engine shall have what a function made: of no leaf, or in a backward that gives gradients back
// (autograd::grad) or makes a graph.
at::Tensor* GradientSoFar(const at::Tensor& leaf);
// What a function made: becomes the leaf's gradient or is added to it, and nothing is left for the engine;
// where that shall have it, it is given back.
at::Tensor HandOver(const at::Tensor& leaf, at::Tensor gradient);

}  // namespace medley
