#include "python/binding/long_call.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

#include <medley/base/interrupt.h>

namespace medley::python {
namespace {

std::atomic<bool> g_ctrl_c = false;
GilWatch::IsHeld g_is_held = nullptr;
std::set<std::string> g_seen;  // with the GIL, or by the one long call that is under way

void (*g_before)(int) = SIG_DFL;  // Python's, while ours stands

// The second one is Python's at once too: code of a task may never come back to us.
void OnCtrlC(int signal) {
  if (g_ctrl_c.exchange(true) && g_before != SIG_DFL && g_before != SIG_IGN) g_before(signal);
  RequestInterrupt();
}

}  // namespace

HeedsCtrlC::HeedsCtrlC(bool on_main_thread) {
  if (!on_main_thread) return;
  ForgetInterrupt();
  g_ctrl_c = false;
  struct sigaction action {};
  action.sa_handler = OnCtrlC;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  heeds_ = ::sigaction(SIGINT, &action, &before_) == 0;
  if (heeds_ && before_.sa_handler == SIG_IGN) {
    ::sigaction(SIGINT, &before_, nullptr);
    heeds_ = false;
  }
  g_before = before_.sa_handler;
}

HeedsCtrlC::~HeedsCtrlC() {
  if (!heeds_) return;
  ::sigaction(SIGINT, &before_, nullptr);
  ForgetInterrupt();
}

bool HeedsCtrlC::TellPython() {
  if (!g_ctrl_c.exchange(false)) return true;
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);  // it says that it was interrupted
  PyErr_SetInterruptEx(SIGINT);
  if (PyErr_CheckSignals() != 0) {
    const Object owned_type(type), owned_value(value), owned_trace(trace);
    return false;
  }
  PyErr_Restore(type, value, trace);
  return true;
}

void GilWatch::Begin(IsHeld held) {
  g_is_held = held;
  g_seen.clear();
}

void GilWatch::Look(const char* what) {
  if (g_is_held == nullptr) return;
  if (g_is_held() != 0) {
    std::fprintf(stderr, "medley: %s holds the GIL\n", what);
    std::abort();
  }
  g_seen.insert(what);
}

Object GilWatch::Seen() {
  Object list = Checked(PyList_New(0));
  for (const std::string& what : g_seen) PyList_Append(list.get(), TextObject(what).get());
  return list;
}

}  // namespace medley::python
