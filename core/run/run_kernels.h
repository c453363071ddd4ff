#pragma once

#include <filesystem>
#include <optional>

#include <medley/model/blocks/kernel_check.h>
#include <medley/run/run.h>

namespace medley {

inline constexpr const char* kKernels = "kernels";  // in run.json

// What the run that lies in a directory found; nothing where its record does not say.
std::optional<KernelVerdicts> KernelsOf(const std::filesystem::path& directory);

// Of a run on a GPU, whose model is there: uses the kernels that its record says of this type and kind of
// card, or tries each, and keeps of all processes' what every one found right. Called by all. The process
// uses none for another run.
void TakeKernels(Run& run, const std::optional<KernelVerdicts>& recorded);

}  // namespace medley
