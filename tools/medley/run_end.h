#pragma once

#include <filesystem>
#include <string>

#include <medley/base/error.h>
#include <medley/page/run_verdict.h>
#include <medley/report/console.h>

namespace medley {

// The last lines of a command that trained a run: what came out, and the commands that go on, the most useful
// first. `code`: what training returned.
void SayWhatIsNext(const std::filesystem::path& run, ExitCode code, Console& console);
// The same of one that scored it, and knows what came out. `console`: for warnings.
std::string WordsAfterScoring(const std::filesystem::path& run, const RunVerdict& verdict, Console& console);

}  // namespace medley
