#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace medley {

// How a program ended that ran beside this process.
struct ProgramEnd {
  std::string not_started;   // why; "" where it ran
  bool out_of_time = false;  // it was killed for that, with its process group
  int exit_code = 0;
  int signal = 0;          // that ended it; 0: none
  std::string last_words;  // the last line that it wrote to standard error, Printable; the end of a long one

  bool ok() const { return not_started.empty() && !out_of_time && exit_code == 0 && signal == 0; }
  // "ended with exit code 3: no network"; of one that was not ok.
  std::string Words() const;
};

// Runs a program to its end, and waits for it; on any thread. command.front() is its path: no shell, and no
// PATH. `input` is its standard input, and what it writes to standard output is lost. It has this process's
// environment and working directory, none of its other files, signals as a process begins with, and a process
// group of its own, so that no terminal's Ctrl-C reaches it. What of it is still there after `limit` is
// killed; what it left behind when it ended by itself goes on.
ProgramEnd RunProgram(const std::vector<std::string>& command, std::string_view input,
                      std::chrono::milliseconds limit);

// Where PATH has a program of this name: an absolute path, the name itself being a link or not. "": nowhere.
// Relative folders of PATH are passed over: what they have depends on where one stands.
std::filesystem::path FindProgram(const std::string& name);

// Why this path is no program that can be run; "" where it is one.
std::string ProgramProblem(const std::filesystem::path& path);

}  // namespace medley
