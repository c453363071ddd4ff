#pragma once

#include <string>
#include <vector>

namespace medley {

// One function a verb. argv[0] is the verb's name, argv[argc] is null. Returns the exit code; throws
// medley::Error. What it prints on stdout is its result; everything else goes to stderr.

// The verbs, in the order of the command's help; and any of them by its name. In the command alone.
std::vector<std::string> VerbNames();
int RunVerb(const std::string& verb, int argc, char** argv);

// Compiled into the command, without libtorch.
int RunCompletion(int argc, char** argv);
int RunFollow(int argc, char** argv);
int RunLaunch(int argc, char** argv);
int RunModels(int argc, char** argv);
int RunNew(int argc, char** argv);
int RunPlugins(int argc, char** argv);
int RunReport(int argc, char** argv);
int RunSweep(int argc, char** argv);
int RunRuns(int argc, char** argv);
int RunTasks(int argc, char** argv);
int RunValidate(int argc, char** argv);
int RunVersion(int argc, char** argv);
int RunWatch(int argc, char** argv);
int RunWeights(int argc, char** argv);

// Compiled into lib/medley/medley_check.so.
int RunCheck(int argc, char** argv);  // of medley plugins check, in no help

// Compiled into lib/medley/medley_verbs.so, which the command opens when one of them is asked for.
int RunTrain(int argc, char** argv);
int RunResume(int argc, char** argv);
int RunEstimate(int argc, char** argv);
int RunEval(int argc, char** argv);
int RunExport(int argc, char** argv);
int RunGenerate(int argc, char** argv);
int RunInspect(int argc, char** argv);
int RunPlan(int argc, char** argv);
int RunSample(int argc, char** argv);
int RunTaskfiles(int argc, char** argv);  // of medley validate, in no help
int RunTokenizer(int argc, char** argv);

}  // namespace medley

// Runs the tensor verb of that name. Plain C, so that dlsym finds it; exceptions pass through.
extern "C" int medley_run_tensor_verb(const char* verb, int argc, char** argv);
// The same for another program's process, which then is the command's: ends it with the verb's exit code.
extern "C" [[noreturn]] void medley_end_as_command(const char* verb, int argc, char** argv);
