#include "tools/medley/processes.h"

#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <medley/base/error.h>
#include <medley/base/printable.h>

namespace medley {
namespace {

bool IsIgnored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

// Runs in the child, and never returns.
[[noreturn]] void Become(const std::vector<std::string>& command, const sigset_t& signals, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(static_cast<int>(ExitCode::kInterrupted));  // it died just before
  ::sigprocmask(SIG_SETMASK, &signals, nullptr);
  std::vector<char*> argv;
  for (const std::string& argument : command) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  if (command.front() == "medley") ::execv("/proc/self/exe", argv.data());
  ::execvp(argv.front(), argv.data());
  std::fprintf(stderr, "medley: %s cannot be started: %s\n", Printable(command.front()).c_str(),
               std::strerror(errno));
  ::_exit(static_cast<int>(ExitCode::kBadInput));
}

}  // namespace

HeldSignals::HeldSignals() {
  sigset_t held;
  ::sigemptyset(&held);
  ::sigaddset(&held, SIGCHLD);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) {
    if (signal == SIGTERM || !IsIgnored(signal)) ::sigaddset(&held, signal);
  }
  file_ = Descriptor(::signalfd(-1, &held, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!file_.ok()) throw Error(std::string("signals cannot be waited for: ") + std::strerror(errno));
  ::sigprocmask(SIG_BLOCK, &held, &before_);
}

// What came since the last look is nobody's any more: SIGUSR1 would end the process.
HeldSignals::~HeldSignals() {
  while (Wait(std::chrono::milliseconds(0)) != 0) {
  }
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

int HeldSignals::Wait(std::chrono::milliseconds most, std::vector<pollfd> others) const {
  others.push_back({.fd = file_.get(), .events = POLLIN, .revents = 0});
  if (::poll(others.data(), others.size(), static_cast<int>(most.count())) <= 0) return 0;
  signalfd_siginfo info{};
  if (::read(file_.get(), &info, sizeof info) != static_cast<ssize_t>(sizeof info)) return 0;
  return static_cast<int>(info.ssi_signo);
}

bool StartedProcess::Reap() {
  int now = 0;
  if (status || ::waitpid(pid, &now, WNOHANG) != pid) return false;
  status = now;
  return true;
}

void StartedProcess::Signal(int signal) const {
  if (!status) ::kill(-pid, signal);
}

StartedProcess StartProcess(const std::vector<std::string>& command, const HeldSignals& signals,
                            const std::function<void()>& prepare) {
  const pid_t parent = ::getpid();
  StartedProcess process{.pid = ::fork(), .status = {}};
  if (process.pid < 0) throw Error(std::string("a process cannot be started: ") + std::strerror(errno));
  if (process.pid == 0) {
    prepare();
    Become(command, signals.before(), parent);
  }
  ::setpgid(process.pid, process.pid);  // whoever of both is first
  return process;
}

}  // namespace medley
