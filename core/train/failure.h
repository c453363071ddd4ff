#pragma once

#include <exception>
#include <string>
#include <tuple>

#include <medley/base/error.h>
#include <medley/cluster/wire.h>

namespace medley {

// Why a run must end, or a task be dropped.
struct Failure {
  std::string reason;
  ExitCode code = ExitCode::kFailed;
  bool out_of_memory = false;   // libtorch's: smaller micro-batches may help
  bool diverged = false;        // a loss or gradient that is not finite
  std::string task{};           // whose it is, where that is known
  bool of_the_machine = false;  // of its files: nobody else is to blame, and it may pass

  // libtorch's words go without its stack trace. `where`: begins the reason, "step 3: ".
  static Failure Of(const std::exception& error, const std::string& where = "");

  // For another process: see Wire.
  auto Fields() { return std::tie(reason, code, out_of_memory, diverged, task, of_the_machine); }
};

}  // namespace medley
