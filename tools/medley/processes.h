#pragma once

#include <poll.h>
#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <medley/base/descriptor.h>

namespace medley {

// While it lives, signals that ask this process for something wait until it looks, so that it can hand them
// on to processes that it started: SIGINT, SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2. Those but SIGTERM that were
// ignored stay so (a script's `&`, nohup). For one thread.
class HeldSignals {
 public:
  HeldSignals();  // an Error where the system has no descriptor for them
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  // Waits for a signal, SIGCHLD too, or for one of `others`. Returns the signal; 0: there is none.
  int Wait(std::chrono::milliseconds most, std::vector<pollfd> others = {}) const;
  // As it was before: of a process that is started.
  const sigset_t& before() const { return before_; }

 private:
  sigset_t before_{};
  Descriptor file_;
};

// A process in a group of its own: a terminal's Ctrl-C goes to who started it alone, who hands it on.
struct StartedProcess {
  pid_t pid = -1;
  std::optional<int> status;  // of waitpid, once it ended

  bool Reap();                    // true once: it has ended
  void Signal(int signal) const;  // with what it started; nothing once it has ended
};
// "medley" is this program itself, wherever it lies. It gets SIGTERM where this process dies. `prepare` runs
// in it before the command. Of a process with one thread. An Error where none can be started; a command that
// is not there ends with kBadInput, and says so.
StartedProcess StartProcess(const std::vector<std::string>& command, const HeldSignals& signals,
                            const std::function<void()>& prepare);

}  // namespace medley
