// For a library that is preloaded into the medley command: its Serve runs in place of the command's main,
// opens what the verbs would open first (libtorch, most of the time that a small run takes), and forks for
// each run that it is asked for. The child runs the command's own main.
#pragma once

#include <cstddef>
#include <vector>

namespace medley::test {

// The library's; its value is the exit status where it cannot serve.
int Serve(int count, char** arguments, char** environment);

// `path`: the library of the command's verbs. Where it is false, dlerror says why, unless there is no path.
bool OpenVerbs(const char* path);

// Of this process. A fork keeps only the thread that forks.
std::ptrdiff_t Threads();

// In the child; `arguments` end with a null pointer. Ends it without libtorch's destructors, which go over a
// hundred MB of registries that are shared with the parent until then.
[[noreturn]] void RunMain(std::vector<char*>& arguments, char** environment);

}  // namespace medley::test
