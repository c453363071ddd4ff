#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <medley/train/failure.h>

namespace medley {

// How to go on with a run that this failure ended, after a step that is saved: a sentence without its end.
// The commands in it work as they stand, where nothing is to be mended before.
std::string RemedyFor(const Failure& failure, double learning_rate, const std::filesystem::path& run,
                      std::int64_t step);

}  // namespace medley
