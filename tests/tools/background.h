#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "tests/tools/small_runs.h"

namespace medley::test {

// A command in the background, whose words go to a file.
class Background {
 public:
  Background(const std::string& command, std::filesystem::path log) : log_(std::move(log)) {
    child_ = ::fork();
    if (child_ == 0) {
      ::unsetenv("MEDLEY_STARTER");  // it is to be the process that gets the signals
      for (const int signal : {SIGINT, SIGHUP}) ::signal(signal, SIG_DFL);  // whatever nohup or & left
      ::execl("/bin/sh", "sh", "-c", ("exec " + command + " >" + log_.string() + " 2>&1").c_str(), nullptr);
      ::_exit(127);
    }
  }
  ~Background() {  // of a test that gave up
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  bool WaitUntil(const std::function<bool()>& condition) const {
    for (int i = 0; i < 2400 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(25));
    return condition();
  }
  void Interrupt() {
    interrupted_ = Clock::now();
    Signal(SIGINT);
  }
  void Signal(int signal) const { ::kill(child_, signal); }
  int Wait() {
    int status = 0;
    ::waitpid(std::exchange(child_, -1), &status, 0);
    took_ = std::chrono::duration<double>(Clock::now() - interrupted_).count();
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  bool HasEnded() const {
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOHANG | WNOWAIT);
    return info.si_pid == child_;
  }
  double seconds_to_end() const { return took_; }
  std::string words() const { return std::filesystem::exists(log_) ? ReadText(log_) : ""; }

 private:
  using Clock = std::chrono::steady_clock;

  std::filesystem::path log_;
  pid_t child_ = -1;
  Clock::time_point interrupted_;
  double took_ = 0;
};

// That the run has written down.
inline std::int64_t StepsOf(const std::filesystem::path& run) { return LineCount(run / "metrics.jsonl"); }

}  // namespace medley::test
