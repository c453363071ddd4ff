#pragma once

#include <exception>
#include <string>

#include <medley/base/error.h>

namespace medley {

// Why a run must end, or a task be dropped.
struct Failure {
  std::string reason;
  ExitCode code = ExitCode::kFailed;
  bool out_of_memory = false;  // libtorch's: smaller micro-batches may help
  bool diverged = false;       // a loss or gradient that is not finite

  // libtorch's words go without its stack trace. `where`: begins the reason, "step 3: ".
  static Failure Of(const std::exception& error, const std::string& where = "");
};

}  // namespace medley
