#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <medley/train/failure.h>

namespace medley {

// How to go on with a run: a sentence without its end, and the command that it comes to.
struct Remedy {
  std::string words, command;
};
// After this failure ended it, behind a step that is saved. The command works as it stands, where nothing is
// to be mended before.
Remedy RemedyFor(const Failure& failure, double learning_rate, const std::filesystem::path& run,
                 std::int64_t step);

}  // namespace medley
