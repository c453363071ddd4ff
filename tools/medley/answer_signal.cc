#include "tools/medley/answer_signal.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <iostream>
#include <iterator>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/interrupt.h>
#include <medley/base/passing_files.h>
#include <medley/base/utf8.h>

namespace medley {
namespace {

struct sigaction g_before_answers {};

void OnAnswerInterrupt(int) {
  if (!InterruptAsked()) return RequestInterrupt();
  constexpr char kWords[] = "\nmedley: interrupted; what was not finished is not there\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kWords, sizeof kWords - 1);
  RemovePassingFiles();
  ::_exit(static_cast<int>(ExitCode::kInterrupted));
}

}  // namespace

AnswerSignal::AnswerSignal() {
  ForgetInterrupt();
  struct sigaction action {};
  action.sa_handler = OnAnswerInterrupt;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, &g_before_answers);
  if (g_before_answers.sa_handler == SIG_IGN) ::sigaction(SIGINT, &g_before_answers, nullptr);
}

AnswerSignal::~AnswerSignal() {
  ::sigaction(SIGINT, &g_before_answers, nullptr);
  ForgetInterrupt();
}

bool InputLines::Next(std::string& line) {
  constexpr int kLook = 100;  // milliseconds: a signal may come just before the wait begins
  for (;;) {
    if (const std::size_t end = waiting_.find('\n'); end != std::string::npos) {
      line = waiting_.substr(0, end);
      waiting_.erase(0, end + 1);
      return true;
    }
    if (InterruptAsked()) return false;
    if (is_over_) {
      line = std::exchange(waiting_, {});
      return !line.empty();
    }
    pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    if (::poll(&input, 1, kLook) <= 0) continue;
    std::array<char, 4096> bytes{};
    const ssize_t got = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (got < 0 && errno != EINTR && errno != EAGAIN)
      throw InputError(std::string("the standard input cannot be read: ") + std::strerror(errno));
    if (got == 0) is_over_ = true;
    if (got > 0) waiting_.append(bytes.data(), static_cast<std::size_t>(got));
  }
}

std::string AllOfInput() {
  std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  if (text.ends_with('\n')) text.pop_back();
  if (ValidUtf8(text) != text) throw InputError("the question on the standard input is not UTF-8; recode it");
  return text;
}

}  // namespace medley
