#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace medley {

// How a child process ended.
struct ChildEnd {
  int exit_code = -1;  // -1: by a signal
  int signal = 0;
  bool out_of_time = false;  // it was killed
};

// Runs this program again with other arguments, in a process that may die, exit or hang without harm to this
// one. The child writes lines to the descriptor kChildReport, and each is handed to `on_line`; what it prints
// goes to stderr. Throws Error where no process can be started.
inline constexpr int kChildReport = 3;
ChildEnd RunChild(const std::vector<std::string>& arguments, std::chrono::milliseconds limit,
                  const std::function<void(const std::string& line)>& on_line);

}  // namespace medley
