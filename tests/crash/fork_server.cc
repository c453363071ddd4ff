// Is preloaded into the medley command, and forks for each trial that it is asked for. The child runs the
// command's own main, with the injector in place; it is the real command but for the time at which libraries
// were loaded.
//
// A request is a line of fields with tabs between: fault, call number, error number, whether it persists, the
// file for what the command prints, the file of the trace or nothing, the watched paths with ':' between, and
// the command's arguments. The answer: wait status, calls counted, microseconds, where the fault was.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/crash/injector.h"
#include "tests/forking_command.h"

namespace medley::crash {
namespace {

constexpr unsigned kMostSeconds = 300;  // of a trial, on a busy machine

struct Request {
  Injection injection;
  std::string out;
  std::vector<std::string> arguments;
};

std::vector<std::string> Split(const std::string& line, char at) {
  std::vector<std::string> parts;
  std::istringstream text(line);
  for (std::string part; std::getline(text, part, at);) parts.push_back(part);
  return parts;
}

Fault FaultOf(const std::string& word) {
  if (word == "kill") return Fault::kKill;
  if (word == "torn") return Fault::kTorn;
  if (word == "error") return Fault::kError;
  if (word == "short") return Fault::kShort;
  if (word == "signal") return Fault::kSignal;
  return Fault::kNone;
}

Request Parse(const std::string& line) {
  const std::vector<std::string> fields = Split(line, '\t');
  Request request{.injection = {.fault = FaultOf(fields.at(0)),
                                .at = std::stoll(fields.at(1)),
                                .error = std::stoi(fields.at(2)),
                                .persists = fields.at(3) == "1",
                                .watched = Split(fields.at(6), ':'),
                                .trace = fields.at(5)},
                  .out = fields.at(4),
                  .arguments = {"medley"}};
  request.arguments.insert(request.arguments.end(), fields.begin() + 7, fields.end());
  return request;
}

// Runs in the child.
[[noreturn]] void RunCommand(Request request, Seen& seen, char** environment) {
  ::alarm(kMostSeconds);
  const int none = ::open("/dev/null", O_RDONLY);
  const int out = ::open(request.out.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644);
  ::dup2(none, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(out, STDERR_FILENO);
  ::close(none);
  ::close(out);
  if (!request.injection.watched.empty()) Inject(request.injection, seen);
  std::vector<char*> arguments;
  for (std::string& argument : request.arguments) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  test::RunMain(arguments, environment);
}

}  // namespace
}  // namespace medley::crash

int medley::test::Serve(int, char**, char** environment) {
  using namespace crash;
  const char* library = std::getenv("MEDLEY_CRASH_VERBS");
  if (!OpenVerbs(library)) {
    std::cerr << "MEDLEY_CRASH_VERBS: " << (library != nullptr ? dlerror() : "not set") << '\n';
    return 125;
  }
  if (const auto threads = Threads(); threads != 1) {
    std::cerr << "the fork server has " << threads << " threads; set OMP_NUM_THREADS=1\n";
    return 125;
  }
  void* shared = ::mmap(nullptr, sizeof(Seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 125;
  for (std::string line; std::getline(std::cin, line);) {
    Seen& seen = *new (shared) Seen;
    const Request request = Parse(line);
    const auto start = std::chrono::steady_clock::now();
    const pid_t child = ::fork();
    if (child == 0) RunCommand(request, seen, environment);
    int status = 0;
    ::waitpid(child, &status, 0);
    const auto spent = std::chrono::steady_clock::now() - start;
    std::cout << status << '\t' << seen.calls << '\t'
              << std::chrono::duration_cast<std::chrono::microseconds>(spent).count() << '\t' << seen.hit
              << std::endl;
  }
  return 0;
}
