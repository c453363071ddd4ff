#include "tools/medley/sweep_jobs.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include <medley/base/error.h>
#include <medley/base/printable.h>

namespace medley {
namespace {

constexpr std::size_t kKept = 16 << 10;  // bytes of what it said
constexpr std::size_t kMostLines = 12;

// From its own message on, which comes last but for the command that goes on: that of a sweep is the sweep's.
std::string LastMessage(std::string said) {
  constexpr const char* kOwn = "medley: ";
  if (const std::size_t next = said.rfind("\nnext:\n"); next != std::string::npos) said.resize(next);
  const std::size_t own = said.rfind(std::string("\n") + kOwn);
  if (own != std::string::npos)
    said.erase(0, own + 1 + std::strlen(kOwn));
  else if (said.starts_with(kOwn))
    said.erase(0, std::strlen(kOwn));
  while (!said.empty() && (said.back() == '\n' || said.back() == ' ')) said.pop_back();
  std::size_t begin = said.size();
  for (std::size_t lines = 0; lines < kMostLines && begin != std::string::npos && begin > 0; ++lines)
    begin = said.rfind('\n', begin - 1);
  if (begin != std::string::npos && begin > 0) said.erase(0, begin + 1);
  return PrintableLines(said);
}

}  // namespace

SweepJob::SweepJob(std::size_t item, const std::vector<std::string>& command, const HeldSignals& signals)
    : item_(item), trains_(command.at(1) != "eval") {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    throw Error(std::string("a process cannot be started: pipe: ") + std::strerror(errno));
  said_by_ = Descriptor(ends[0]);
  ::fcntl(said_by_.get(), F_SETFL, O_NONBLOCK);
  const Descriptor says(ends[1]), nothing("/dev/null", O_RDWR);
  process_ = StartProcess(command, signals, [&] {
    ::dup2(nothing.get(), STDIN_FILENO);
    ::dup2(nothing.get(), STDOUT_FILENO);
    ::dup2(says.get(), STDERR_FILENO);
  });
}

void SweepJob::Signal(int signal) const {
  if (trains_) return process_.Signal(signal);
  if (signal != SIGUSR1) process_.Signal(SIGTERM);
}

void SweepJob::Read() {
  std::array<char, 4096> piece;
  for (ssize_t got; (got = ::read(said_by_.get(), piece.data(), piece.size())) != 0;) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return;
    said_.append(piece.data(), static_cast<std::size_t>(got));
    if (said_.size() > 2 * kKept) said_.erase(0, said_.size() - kKept);
  }
  said_by_.Close();
}

bool SweepJob::HasEnded() {
  if (said_by_.ok()) Read();
  if (!process_.Reap()) return false;
  if (said_by_.ok()) Read();
  return true;
}

int SweepJob::code() const {
  return process_.status && WIFEXITED(*process_.status) ? WEXITSTATUS(*process_.status) : -1;
}

std::string SweepJob::Words() const {
  const std::string message = LastMessage(said_);
  if (code() >= 0) return message.empty() ? "it ended with exit code " + std::to_string(code()) : message;
  const int signal = process_.status ? WTERMSIG(*process_.status) : 0;
  return std::string("it was ended by a signal (") + ::strsignal(signal) + ")" +
         (message.empty() ? "" : "; it said: " + message);
}

}  // namespace medley
