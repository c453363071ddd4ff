#pragma once

namespace medley {

// kGelu is exact, kTanhGelu its approximation by tanh (SigLIP), kQuickGelu x * sigmoid(1.702 x) (CLIP). No
// tensors here, so that configs can be checked without.
enum class Activation { kRelu, kGelu, kTanhGelu, kQuickGelu };

}  // namespace medley
