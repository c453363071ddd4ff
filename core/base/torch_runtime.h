#pragma once

#include <filesystem>
#include <string>

namespace medley {

// The directory of the loaded libtorch_cpu.so: an installed medley may run with another wheel than it was
// built with.
std::filesystem::path LoadedTorchDirectory();

// Makes CUDA available in this process: opens libtorch_cuda.so of the libtorch that is loaded.
// Call it before the first use of a CUDA device; later calls do nothing. An InputError says what was tried.
void LoadCuda();
// Whether LoadCuda did. Who only wants to know asks here: libtorch would remember that there was no CUDA.
bool CudaIsOpen();

// Why CUDA cannot be used once its library is open, "" where it can. `devices`: that the driver shows;
// `asked_in_time`: libtorch was not asked for CUDA before, for it keeps its first answer.
std::string CudaProblem(int devices, bool asked_in_time);

}  // namespace medley
