#include "tests/forking_command.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <iterator>

namespace medley::test {
namespace {

using Main = int (*)(int, char**, char**);

Main g_main = nullptr;  // the command's own

}  // namespace

bool OpenVerbs(const char* path) {
  return path != nullptr && dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) != nullptr;
}

std::ptrdiff_t Threads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                       std::filesystem::directory_iterator());
}

void RunMain(std::vector<char*>& arguments, char** environment) {
  const int code = g_main(static_cast<int>(arguments.size()) - 1, arguments.data(), environment);
  std::cout.flush();
  std::fflush(nullptr);
  std::_Exit(code);
}

}  // namespace medley::test

// glibc starts every program through this; ours stands before it.
extern "C" [[gnu::visibility("default")]] int __libc_start_main(medley::test::Main main, int argc,
                                                                char** argv, void (*init)(), void (*fini)(),
                                                                void (*loader_fini)(), void* stack_end) {
  medley::test::g_main = main;
  const auto start = reinterpret_cast<decltype(&__libc_start_main)>(dlsym(RTLD_NEXT, "__libc_start_main"));
  return start(&medley::test::Serve, argc, argv, init, fini, loader_fini, stack_end);
}
