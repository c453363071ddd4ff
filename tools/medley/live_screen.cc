#include "tools/medley/live_screen.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <ctime>
#include <sstream>
#include <string_view>
#include <vector>

#include <medley/base/error.h>
#include <medley/base/printable.h>
#include <medley/report/screen.h>

namespace medley {
namespace {

// The alternate screen, from its first line on, and no cursor. What every terminal since xterm knows.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[H", kLeave = "\x1b[?25h\x1b[?1049l";

volatile std::sig_atomic_t g_is_shown = 0;

// From here on what a signal handler may call.

void WriteCodes(std::string_view codes) {
  const int error_number = errno;
  [[maybe_unused]] const auto written = ::write(STDOUT_FILENO, codes.data(), codes.size());
  errno = error_number;
}

bool IsInForeground() { return ::tcgetpgrp(STDOUT_FILENO) == ::getpgrp(); }

void Enter() {
  if (g_is_shown != 0 || !IsInForeground()) return;
  g_is_shown = 1;
  WriteCodes(kEnter);
}

void Restore() {
  if (g_is_shown == 0) return;
  g_is_shown = 0;
  WriteCodes(kLeave);
}

void OnLeave(int) {
  Restore();
  ::_exit(static_cast<int>(ExitCode::kInterrupted));
}

void TakeDefault(int signal) {
  struct sigaction before {};
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  ::sigaction(signal, &action, &before);
  sigset_t one, mask;
  ::sigemptyset(&one);
  ::sigaddset(&one, signal);
  ::raise(signal);
  ::pthread_sigmask(SIG_UNBLOCK, &one, &mask);  // here it ends or stops
  ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  ::sigaction(signal, &before, nullptr);
}

void OnDefault(int signal) {
  const int error_number = errno;
  Restore();
  TakeDefault(signal);
  errno = error_number;
}

void OnContinue(int) {
  Enter();
  ::raise(SIGWINCH);  // which waits until it is asked for
}

// To here.

struct Handled {
  int signal;
  void (*handler)(int);
  struct sigaction before {};
};
Handled g_handled[] = {{SIGINT, OnLeave},    {SIGTERM, OnLeave},   {SIGHUP, OnLeave},
                       {SIGQUIT, OnDefault}, {SIGTSTP, OnDefault}, {SIGCONT, OnContinue}};

sigset_t WindowSignal() {
  sigset_t window;
  ::sigemptyset(&window);
  ::sigaddset(&window, SIGWINCH);
  return window;
}

void WriteWhole(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw Error(std::string("the terminal cannot be written: ") + std::strerror(errno));
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::size_t RowsOfWindow() {
  constexpr std::size_t kUsual = 24;
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : kUsual;
}

}  // namespace

LiveScreen::LiveScreen() {
  const sigset_t window = WindowSignal();
  ::pthread_sigmask(SIG_BLOCK, &window, nullptr);
  for (Handled& handled : g_handled) {
    struct sigaction action {};
    action.sa_handler = handled.handler;
    action.sa_flags = SA_RESTART;
    ::sigfillset(&action.sa_mask);
    ::sigaction(handled.signal, &action, &handled.before);
    // What nohup, or a script's `&`, ignores stays ignored.
    if (handled.before.sa_handler == SIG_IGN) ::sigaction(handled.signal, &handled.before, nullptr);
  }
  Enter();
}

LiveScreen::~LiveScreen() {
  Restore();
  for (const Handled& handled : g_handled) ::sigaction(handled.signal, &handled.before, nullptr);
  const sigset_t window = WindowSignal();
  ::pthread_sigmask(SIG_UNBLOCK, &window, nullptr);
}

void LiveScreen::Show(const std::string& text) const {
  if (g_is_shown == 0) return;
  const std::string lines = FittedLines(PrintableLines(text), ScreenColumns(), RowsOfWindow());
  std::string drawn = "\x1b[H";
  for (const char c : lines) drawn += c == '\n' ? std::string("\x1b[K\r\n") : std::string(1, c);
  WriteWhole(drawn + "\x1b[K\x1b[J");
}

bool LiveScreen::Wait(double seconds) const {
  const sigset_t window = WindowSignal();
  const double whole = std::floor(seconds);
  const timespec pause{.tv_sec = static_cast<time_t>(whole),
                       .tv_nsec = static_cast<long>(1e9 * (seconds - whole))};
  return ::sigtimedwait(&window, nullptr, &pause) > 0;
}

std::string FittedLines(const std::string& text, std::size_t columns, std::size_t rows) {
  std::vector<std::string> lines;
  std::istringstream all(text);
  for (std::string line; std::getline(all, line);) lines.push_back(CutText(line, columns));
  if (lines.size() > rows) {
    const std::size_t more = lines.size() - rows + 1;
    lines.resize(rows);
    lines.back() = CutText("(" + std::to_string(more) + " more lines: a taller window shows them)", columns);
  }
  std::string fitted;
  for (const std::string& line : lines) fitted += (fitted.empty() ? "" : "\n") + line;
  return fitted;
}

}  // namespace medley
