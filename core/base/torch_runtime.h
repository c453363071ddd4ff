#pragma once

#include <string>

namespace medley {

// How the loaded libtorch was built, in its own words (several lines).
std::string TorchConfiguration();

// Makes CUDA available in this process: opens libtorch_cuda.so of the libtorch that medley was built for.
// Call it before the first use of a CUDA device; later calls do nothing. An InputError says what was tried.
void LoadCuda();

}  // namespace medley
