#include "tools/medley/child.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>

#include <medley/base/descriptor.h>
#include <medley/base/error.h>

namespace medley {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void Fail(const std::string& what, int number) {
  throw Error("a child process cannot be started: " + what + ": " + std::strerror(number) +
              ". Look at the system's limits (ulimit -u, -n)");
}

pid_t Start(const std::vector<std::string>& arguments, int report) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, report, kChildReport);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) Fail("posix_spawn", error);
  return pid;
}

// Hands out what has come as whole lines, of a child that may write anything.
class Lines {
 public:
  explicit Lines(const std::function<void(const std::string&)>& on_line) : on_line_(on_line) {}

  // Waits for at most so long; false at the end of the pipe.
  bool Read(int fd, int milliseconds) {
    pollfd waiting{fd, POLLIN, 0};
    if (::poll(&waiting, 1, milliseconds) <= 0) return true;
    std::array<char, 4096> piece;
    const ssize_t got = ::read(fd, piece.data(), piece.size());
    if (got < 0) return errno == EINTR || errno == EAGAIN;
    rest_.append(piece.data(), static_cast<std::size_t>(got));
    for (std::size_t end; (end = rest_.find('\n')) != std::string::npos; rest_.erase(0, end + 1))
      on_line_(rest_.substr(0, end));
    constexpr std::size_t kLongest = 1 << 20;
    if (rest_.size() > kLongest) rest_.clear();
    return got > 0;
  }

 private:
  const std::function<void(const std::string&)>& on_line_;
  std::string rest_;
};

std::optional<int> Ended(pid_t pid, int flags) {
  int status = 0;
  pid_t got;
  while ((got = ::waitpid(pid, &status, flags)) < 0 && errno == EINTR) {
  }
  return got == pid ? std::optional(status) : std::nullopt;
}

}  // namespace

ChildEnd RunChild(const std::vector<std::string>& arguments, std::chrono::milliseconds limit,
                  const std::function<void(const std::string& line)>& on_line) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) Fail("pipe", errno);
  Descriptor read(ends[0]), write(ends[1]);
  // dup2 to its own number would leave it close-on-exec.
  if (write.get() == kChildReport)
    write = Descriptor(::fcntl(write.get(), F_DUPFD_CLOEXEC, kChildReport + 1));
  if (!write.ok()) Fail("fcntl", errno);
  const pid_t pid = Start(arguments, write.get());
  write.Close();
  Lines lines(on_line);
  const auto deadline = Clock::now() + limit;
  ChildEnd end;
  bool open = true;
  std::optional<int> status;
  // A process that the child left behind may keep the pipe open: its own end counts.
  while (!(status = Ended(pid, WNOHANG))) {
    if (Clock::now() >= deadline) {
      end.out_of_time = true;
      ::kill(pid, SIGKILL);
      status = Ended(pid, 0);
      break;
    }
    constexpr int kSlice = 10;
    if (open)
      open = lines.Read(read.get(), kSlice);
    else
      ::poll(nullptr, 0, kSlice);
  }
  ::fcntl(read.get(), F_SETFL, O_NONBLOCK);
  pollfd left{read.get(), POLLIN, 0};
  while (open && ::poll(&left, 1, 0) > 0 && (left.revents & POLLIN) != 0) open = lines.Read(read.get(), 0);
  if (status && WIFEXITED(*status)) end.exit_code = WEXITSTATUS(*status);
  if (status && WIFSIGNALED(*status)) end.signal = WTERMSIG(*status);
  return end;
}

}  // namespace medley
