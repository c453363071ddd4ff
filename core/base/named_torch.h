#pragma once

namespace medley {

// Opens the libtorch that MEDLEY_TORCH_ROOT names, a folder with lib/libtorch_cpu.so: what is opened later
// and needs a libtorch gets that one, wherever the one lies that medley was built with. Without the variable
// nothing happens. An InputError where there is none, or where it does not open.
void OpenNamedTorch();

}  // namespace medley
