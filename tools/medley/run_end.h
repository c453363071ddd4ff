#pragma once

#include <filesystem>

#include <medley/base/error.h>
#include <medley/report/console.h>

namespace medley {

// The last lines of a command that trained a run: what came out, and the commands that go on, the most useful
// first. `code`: what training returned.
void SayWhatIsNext(const std::filesystem::path& run, ExitCode code, Console& console);

}  // namespace medley
