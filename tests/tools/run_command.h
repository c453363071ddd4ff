#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

#include "tests/words.h"
#ifdef MEDLEY_STARTED
#include "tests/tools/starter/starter.h"
#endif

namespace medley::test {

struct CommandResult {
  int code = -1;
  std::string out;  // stdout, and stderr where the command line says 2>&1
};

// Runs a shell command line.
inline CommandResult Shell(const std::string& command) {
  CommandResult result;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return result;
  std::array<char, 4096> buffer;
  while (const std::size_t n = fread(buffer.data(), 1, buffer.size(), pipe))
    result.out.append(buffer.data(), n);
  const int status = pclose(pipe);
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

inline std::string PlainMedley() { return MEDLEY_BUILD_DIR "/bin/medley "; }
#ifdef MEDLEY_STARTED
// One that has opened libtorch already, which most of a short command's time goes into: see
// starter/client.cc.
inline std::string Medley() {
  static const Starter starter(MEDLEY_BUILD_DIR "/bin/medley", MEDLEY_STARTED "/medley_starter.so",
                               MEDLEY_BUILD_DIR "/lib/medley/medley_verbs.so");
  return MEDLEY_STARTED "/medley_started ";
}
#else
inline std::string Medley() { return PlainMedley(); }
#endif

// The command "medley ..." that was printed last in front of these words; "" where there is none.
inline std::string CommandBefore(const std::string& out, const std::string& words) {
  const std::size_t end = out.rfind(words);
  const std::size_t begin = end == std::string::npos ? end : out.rfind("medley ", end);
  return begin == std::string::npos ? "" : out.substr(begin, end - begin);
}
// The command in the last of the lines that a command ends with; "" where there is none.
inline std::string LastCommand(const std::string& out) {
  const std::string beginning = "\n  medley ";
  const std::size_t next = out.rfind("next:\n  medley "), at = out.rfind(beginning);
  if (next == std::string::npos || out.find('\n', at + 1) + 1 != out.size()) return "";
  return out.substr(at + 3, out.size() - at - 4);
}
// Runs what was printed.
inline CommandResult Printed(const std::string& command) {
  return Shell("exec " MEDLEY_BUILD_DIR "/bin/" + command + " 2>&1");
}

}  // namespace medley::test
