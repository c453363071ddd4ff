#pragma once

#include "python/binding/python.h"
#include "python/binding/raised.h"

#include <csignal>

namespace medley::python {

// Ctrl-C while one lives asks for an interrupt of medley's work, which then ends as if Python's had heard of
// it, and is told to Python at its end. On the main thread, where it is Python's to hear of; elsewhere, and
// where Ctrl-C is ignored, it does nothing.
class HeedsCtrlC {
 public:
  explicit HeedsCtrlC(bool on_main_thread);
  ~HeedsCtrlC();
  HeedsCtrlC(const HeedsCtrlC&) = delete;
  HeedsCtrlC& operator=(const HeedsCtrlC&) = delete;

  // Behind the work, with the GIL: runs Python's own handler where there was a Ctrl-C. False where that
  // raised, as it does (KeyboardInterrupt) unless a program has another; what was raised before is then gone.
  static bool TellPython();

 private:
  bool heeds_ = false;
  struct sigaction before_ {};
};

// What takes long, or joins threads that may want the GIL: without it. False where it raised, a Ctrl-C too.
// `what` is a constant: see GilWatch.
template <typename Fn>
bool LongCall(const char* what, bool on_main_thread, const Fn& fn);

// For tests: who looks whether the GIL is held in a long call. A held one ends the process; those that were
// without are listed.
class GilWatch {
 public:
  using IsHeld = int (*)();  // PyGILState_Check, which the limited API lacks
  static void Begin(IsHeld held);
  static void Look(const char* what);
  static Object Seen();  // a list of names, each once
};

template <typename Fn>
bool LongCall(const char* what, bool on_main_thread, const Fn& fn) {
  bool good = false;
  {
    const HeedsCtrlC ctrl_c(on_main_thread);
    good = Free([&] {
      GilWatch::Look(what);
      fn();
    });
  }
  return HeedsCtrlC::TellPython() && good;
}

}  // namespace medley::python
