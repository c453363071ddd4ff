#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/page/run_verdict.h>
#include <medley/report/console.h>

namespace medley {

// Calls what trains a run, and has NextCommand say what goes on where it ends otherwise than done.
// `arguments`: the verb and its own. An interrupt is an exit code, and other exceptions pass.
int RunTraining(const std::vector<std::string>& arguments, const std::function<ExitCode()>& train);
// The last lines of one that is done: what came out, and the commands that go on, the most useful first. Says
// nothing after another code.
void SayWhatIsNext(const std::filesystem::path& run, ExitCode code, Console& console);
// The same of one that scored it, and knows what came out. `console`: for warnings.
std::string WordsAfterScoring(const std::filesystem::path& run, const RunVerdict& verdict, Console& console);

}  // namespace medley
