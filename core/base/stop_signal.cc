#include <medley/base/stop_signal.h>

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>

#include <medley/base/error.h>
#include <medley/base/interrupt.h>
#include <medley/base/next_command.h>
#include <medley/base/passing_files.h>

namespace medley {
namespace {

int g_depth = 0;  // of the trainer's thread

template <std::size_t kSize>
void Write(const char (&words)[kSize]) {
  const int error_number = errno;
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, words, kSize - 1);
  errno = error_number;
}

void OnStop(int) {
  // Not 130, at which a job is started again: one that has too little time to save would never get further.
  if (InterruptAsked()) {
    Write("\nleft at once: what is not saved is lost\n");
    WriteNextCommand();
    ::_exit(static_cast<int>(ExitCode::kFailed));
  }
  RequestInterrupt();
  Write("\nstopping: what is under way is given up; once more leaves at once, unsaved\n");
}

void OnLeave(int) {
  Write("\nmedley: interrupted; what was not finished is not there\n");
  RemovePassingFiles();
  ::_exit(static_cast<int>(ExitCode::kInterrupted));
}

void OnWarning(int) {
  if (InterruptAsked()) return;
  RequestInterrupt();
  Write("\nstopping: what is under way is given up, and what was done before it is saved\n");
}

void OnSaveRequest(int) {
  RequestSave();
  Write("\nthe step that is under way is saved when it is done\n");
}

struct Handled {
  int signal;
  void (*handler)(int);
  bool stays_ignored;  // where it was
  struct sigaction before {};
};
Handled g_handled[] = {{SIGINT, OnStop, true},         {SIGTERM, OnStop, false},   {SIGHUP, OnWarning, true},
                       {SIGUSR1, OnSaveRequest, true}, {SIGUSR2, OnWarning, true}, {SIGPIPE, SIG_IGN, false},
                       {SIGXFSZ, SIG_IGN, false}};

void Handle(int signal, void (*handler)(int), bool stays_ignored, struct sigaction& before) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(signal, &action, &before);
  if (stays_ignored && before.sa_handler == SIG_IGN) ::sigaction(signal, &before, nullptr);
}

void Forget() {
  ForgetInterrupt();
  TakeSaveRequest();
}

}  // namespace

StopSignal::StopSignal() {
  if (g_depth++ > 0) return;
  Forget();
  for (Handled& handled : g_handled)
    Handle(handled.signal, handled.handler, handled.stays_ignored, handled.before);
}

StopSignal::~StopSignal() {
  if (--g_depth > 0) return;
  for (const Handled& handled : g_handled) ::sigaction(handled.signal, &handled.before, nullptr);
  Forget();
}

void LeaveAtSignals() {
  struct sigaction before {};
  Handle(SIGTERM, OnLeave, false, before);
  for (const int signal : {SIGINT, SIGHUP}) Handle(signal, OnLeave, true, before);
}

}  // namespace medley
