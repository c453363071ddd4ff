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

// Whether it was asked for, also where nobody looks: for who hears of it, and not for who works.
bool InterruptAsked() noexcept;

// While one lives, work goes on though an interrupt was asked for: processes that share a step can only stop
// together. One at a time.
class HeldInterrupts {
 public:
  HeldInterrupts();
  ~HeldInterrupts();
  HeldInterrupts(const HeldInterrupts&) = delete;
  HeldInterrupts& operator=(const HeldInterrupts&) = delete;

  // They stop now: as if it had been asked for in each, and nothing is held any more.
  static void Release() noexcept;
};

// That somebody wants what is done so far to be saved, and the work to go on; the process's too.
void RequestSave() noexcept;      // also in a signal handler
bool TakeSaveRequest() noexcept;  // true once for each, or for several

}  // namespace medley
