#include <medley/train/stop_signal.h>

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include <medley/base/error.h>
#include <medley/base/interrupt.h>

namespace medley {
namespace {

int g_depth = 0;  // of the trainer's thread
struct sigaction g_old_interrupt, g_old_terminate, g_old_hangup, g_old_pipe, g_old_file_size;

void OnSignal(int) {
  // Not 130: that number promises a saved run.
  if (InterruptRequested()) ::_exit(static_cast<int>(ExitCode::kFailed));
  RequestInterrupt();
  constexpr char kWords[] = "\nstopping: what is under way is given up; once more leaves at once, unsaved\n";
  const int error_number = errno;
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kWords, std::strlen(kWords));
  errno = error_number;
}

void Install(int signal, void (*handler)(int), struct sigaction& old) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(signal, &action, &old);
}

void InstallUnlessIgnored(int signal, struct sigaction& old) {
  Install(signal, OnSignal, old);
  if (old.sa_handler == SIG_IGN) ::sigaction(signal, &old, nullptr);
}

}  // namespace

StopSignal::StopSignal() {
  if (g_depth++ > 0) return;
  ForgetInterrupt();
  InstallUnlessIgnored(SIGINT, g_old_interrupt);  // a script's `&`
  Install(SIGTERM, OnSignal, g_old_terminate);
  InstallUnlessIgnored(SIGHUP, g_old_hangup);  // nohup
  Install(SIGPIPE, SIG_IGN, g_old_pipe);
  Install(SIGXFSZ, SIG_IGN, g_old_file_size);
}

StopSignal::~StopSignal() {
  if (--g_depth > 0) return;
  ::sigaction(SIGINT, &g_old_interrupt, nullptr);
  ::sigaction(SIGTERM, &g_old_terminate, nullptr);
  ::sigaction(SIGHUP, &g_old_hangup, nullptr);
  ::sigaction(SIGPIPE, &g_old_pipe, nullptr);
  ::sigaction(SIGXFSZ, &g_old_file_size, nullptr);
  ForgetInterrupt();
}

}  // namespace medley
