#include <medley/base/run_program.h>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <sstream>
#include <system_error>

#include <medley/base/descriptor.h>
#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/next_command.h>
#include <medley/base/printable.h>
#include <medley/base/user_directories.h>

namespace medley {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int kSlice = 20;                    // milliseconds between two looks
constexpr std::chrono::seconds kToDie{5};     // after SIGKILL, which a disk in trouble holds up
constexpr std::size_t kMostLastWords = 1024;  // bytes

// A file and not a pipe: whoever reads none of it, or half, keeps nobody waiting and breaks nothing.
Descriptor FileOf(std::string_view input) {
  Descriptor file(::memfd_create("input", MFD_CLOEXEC));
  if (!file.ok()) throw FileError("its input cannot be made: " + std::string(std::strerror(errno)), errno);
  WriteAll(file.get(), input.data(), input.size(), "its input");
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

// What has come of a pipe, as far as its last line needs it.
class LastLine {
 public:
  // Waits for at most so long; false at the end of the pipe.
  bool Read(int fd, int milliseconds) {
    pollfd waiting{fd, POLLIN, 0};
    if (::poll(&waiting, 1, milliseconds) <= 0) return true;
    std::array<char, 4096> piece;
    const ssize_t got = ::read(fd, piece.data(), piece.size());
    if (got < 0) return errno == EINTR || errno == EAGAIN;
    text_.append(piece.data(), static_cast<std::size_t>(got));
    const std::size_t end = text_.find_last_not_of(" \t\r\n");
    if (end != text_.npos) text_.erase(0, text_.find_last_of('\n', end) + 1);  // 0 where there is none
    if (text_.size() > kMostLastWords) text_.erase(0, text_.size() - kMostLastWords);
    return got > 0;
  }
  std::string Words() const {
    const std::size_t end = text_.find_last_not_of(" \t\r\n");
    return end == text_.npos ? "" : Printable(text_.substr(0, end + 1));
  }

 private:
  std::string text_;
};

// As posix_spawn takes them.
class SpawnRules {
 public:
  SpawnRules(int input, int errors) {
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, errors, STDERR_FILENO);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
    posix_spawnattr_init(&attributes);
    sigset_t all, none;
    ::sigfillset(&all);
    ::sigemptyset(&none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  }
  ~SpawnRules() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnRules(const SpawnRules&) = delete;
  SpawnRules& operator=(const SpawnRules&) = delete;

  posix_spawn_file_actions_t files{};
  posix_spawnattr_t attributes{};
};

// Those of this process lie above what a program begins with, so that none takes another's place.
Descriptor Above(Descriptor file) {
  if (file.get() > STDERR_FILENO) return file;
  Descriptor above(::fcntl(file.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!above.ok()) throw Error(std::strerror(errno));
  return above;
}

pid_t Start(const std::vector<std::string>& command, int input, int errors) {
  std::vector<char*> argv;
  for (const std::string& argument : command) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const SpawnRules rules(input, errors);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, argv.front(), &rules.files, &rules.attributes, argv.data(), environ);
  if (error == ENOEXEC)
    throw Error("it is no program that the system knows; a script begins with a line such as #!/bin/sh");
  if (error != 0) throw Error(std::strerror(error));
  return pid;
}

// Nothing while it runs. Where this process ignores its children's ends, nobody knows how.
std::optional<int> Ended(pid_t pid) {
  int status = 0;
  pid_t got;
  while ((got = ::waitpid(pid, &status, WNOHANG)) < 0 && errno == EINTR) {
  }
  return got == 0 ? std::nullopt : std::optional(got == pid ? status : 0);
}

ProgramEnd WaitFor(pid_t pid, int errors, std::chrono::milliseconds limit) {
  ProgramEnd end;
  LastLine last;
  auto deadline = Clock::now() + limit;
  std::optional<int> status;
  // A process that it left behind may keep the pipe open: its own end counts.
  for (bool open = true; !(status = Ended(pid));) {
    if (Clock::now() >= deadline) {
      if (end.out_of_time) break;
      end.out_of_time = true;
      ::kill(-pid, SIGKILL);
      deadline = Clock::now() + kToDie;
    }
    if (open)
      open = last.Read(errors, kSlice);
    else
      ::poll(nullptr, 0, kSlice);
  }
  constexpr int kMostPieces = 64;  // of one that others go on to write to
  pollfd left{errors, POLLIN, 0};
  for (int i = 0; i<kMostPieces&& ::poll(&left, 1, 0)> 0 && (left.revents & POLLIN) != 0; ++i)
    last.Read(errors, 0);
  end.last_words = last.Words();
  if (status && WIFEXITED(*status)) end.exit_code = WEXITSTATUS(*status);
  if (status && WIFSIGNALED(*status)) end.signal = WTERMSIG(*status);
  return end;
}

}  // namespace

std::string ProgramEnd::Words() const {
  if (!not_started.empty()) return "cannot be started: " + not_started;
  std::string words;
  if (out_of_time)
    words = "was killed, as it took too long";
  else if (signal != 0)
    words = "was ended by signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
  else
    words = "ended with exit code " + std::to_string(exit_code);
  return words + (last_words.empty() ? "" : ": " + last_words);
}

ProgramEnd RunProgram(const std::vector<std::string>& command, std::string_view input,
                      std::chrono::milliseconds limit) {
  try {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) throw Error(std::strerror(errno));
    const Descriptor errors(ends[0]);
    Descriptor theirs = Above(Descriptor(ends[1]));
    ::fcntl(theirs.get(), F_SETFL, 0);  // whose writes wait, as writes do
    const Descriptor file = Above(FileOf(input));
    const pid_t pid = Start(command, file.get(), theirs.get());
    theirs.Close();
    return WaitFor(pid, errors.get(), limit);
  } catch (const Error& error) {
    return {.not_started = error.what(), .last_words = {}};
  }
}

fs::path FindProgram(const std::string& name) {
  std::istringstream places(Environment("PATH").value_or("/usr/local/bin:/usr/bin:/bin"));
  for (std::string place; std::getline(places, place, ':');) {
    const fs::path found = fs::path(place) / name;
    if (found.is_absolute() && ProgramProblem(found).empty()) return found;
  }
  return "";
}

std::string ProgramProblem(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0) return "";
  if (std::string problem = FileProblem(path); !problem.empty()) return problem;
  return DisplayPath(path) + " is not executable: chmod +x " + ShellWord(DisplayPath(path));
}

}  // namespace medley
