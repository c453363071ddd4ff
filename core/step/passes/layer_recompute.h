#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>

namespace medley {

// Activation checkpointing: fn(x), but what autograd would save inside is dropped. The first time that the
// backward asks for any of it, fn(x) runs again and everything is there, bit for bit (on a
// GPU: where the run is deterministic), until its node is done.
// Not reentrant: x needs no gradient, and the backward is one backward.
//
// fn must own what it uses, must not write to x, and must do the same each time: an Error names the layer
// where the second run saves other tensors than the first. The second run is on the backward's thread, on a
// GPU one of the engine's. Without a graph it is fn(x).
at::Tensor RunRecomputed(const std::string& layer, const at::Tensor& x,
                         const std::function<at::Tensor(const at::Tensor&)>& fn);

}  // namespace medley
