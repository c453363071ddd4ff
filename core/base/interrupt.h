#pragma once

#include <medley/base/error.h>

namespace medley {

// Thrown by work that was asked to stop. What was begun is given up; what called it says what is saved.
class Interrupted final : public Error {
 public:
  Interrupted();
  ~Interrupted() override;
};

// That somebody wants this process to stop, as a person with Ctrl-C does. It is the process's, as a signal
// is: whoever runs long work looks at it between the pieces.
void RequestInterrupt() noexcept;  // also in a signal handler
void ForgetInterrupt() noexcept;
bool InterruptRequested() noexcept;
// Throws Interrupted where it was asked for.
void HeedInterrupt();

// That somebody wants what is done so far to be saved, and the work to go on; the process's too.
void RequestSave() noexcept;      // also in a signal handler
bool TakeSaveRequest() noexcept;  // true once for each, or for several

}  // namespace medley
