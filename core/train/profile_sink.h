#pragma once

#include <c10/core/Device.h>

#include <filesystem>

#include <medley/report/record_sink.h>

namespace medley {

inline constexpr const char* kKernelsFile = "kernels.json";

// Where the environment's MEDLEY_PROFILE names steps of a run on a GPU ("61-65"; the first is at least 2),
// the profile of these is written to kernels.json of its directory when they are done. An InputError for
// other words.
void AddProfile(RecordSinks& sinks, const std::filesystem::path& directory, c10::Device device);

}  // namespace medley
