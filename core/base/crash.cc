#include <medley/base/crash.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <memory>
#include <new>

#include <medley/base/error.h>
#include <medley/base/mapped_file.h>

namespace medley {
namespace {

struct Deadly {
  int signal;
  std::string_view name;
};
constexpr std::array kDeadly = {Deadly{SIGSEGV, "SIGSEGV: memory that is not there"},
                                Deadly{SIGBUS, "SIGBUS"}, Deadly{SIGFPE, "SIGFPE: an integer division"},
                                Deadly{SIGILL, "SIGILL"}, Deadly{SIGABRT, "SIGABRT"}};
constexpr std::size_t kStackBytes = 64 << 10;
constexpr std::size_t kMostAdvice = 1024;

// In the block of the thread itself: a handler must not allocate.
[[gnu::tls_model("initial-exec")]] thread_local std::string_view t_doing;

std::array<char, kMostAdvice> g_advice;
std::atomic<std::size_t> g_advice_size = 0;

// A stack of its own for the handler: the thread's may be what overflowed.
class SignalStack {
 public:
  SignalStack() : bytes_(new (std::nothrow) std::byte[kStackBytes]) {
    stack_t now{};
    if (!bytes_ || ::sigaltstack(nullptr, &now) != 0 || (now.ss_flags & SS_DISABLE) == 0) return;
    stack_t stack{};
    stack.ss_sp = bytes_.get();
    stack.ss_size = kStackBytes;
    installed_ = ::sigaltstack(&stack, nullptr) == 0;
  }
  ~SignalStack() {
    stack_t off{};
    off.ss_flags = SS_DISABLE;
    if (installed_) ::sigaltstack(&off, nullptr);
  }
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  std::unique_ptr<std::byte[]> bytes_;
  bool installed_ = false;
};

void EnsureSignalStack() { static thread_local const SignalStack stack; }

void Write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void WriteAdvice() {
  if (const std::size_t size = g_advice_size; size > 0) {
    Write(" ");
    Write({g_advice.data(), size});
  }
  Write("\n");
}

// Only what is safe in a handler. It was taken off when it was called, so the second time is the default.
void OnCrash(int signal, siginfo_t* info, void*) {
  if (const std::string_view path = signal == SIGBUS ? MappedPathAt(info->si_addr) : ""; !path.empty()) {
    Write("\nmedley: ");
    Write(path);
    Write(" cannot be read any more: it got shorter while it was in use, or its disk failed. Restore it.");
    WriteAdvice();
    ::_exit(static_cast<int>(ExitCode::kFailed));
  }
  Write("\nmedley: crashed (");
  for (const Deadly& deadly : kDeadly) {
    if (deadly.signal == signal) Write(deadly.name);
  }
  Write(t_doing.empty() ? ")" : ") in ");
  Write(t_doing);
  Write(".");
  WriteAdvice();
  ::raise(signal);
}

}  // namespace

void InstallCrashWords() {
  EnsureSignalStack();
  for (const Deadly& deadly : kDeadly) {
    struct sigaction now {};
    if (::sigaction(deadly.signal, nullptr, &now) != 0) continue;
    if ((now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL) continue;
    struct sigaction action {};
    action.sa_sigaction = OnCrash;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | static_cast<int>(SA_RESETHAND);
    ::sigemptyset(&action.sa_mask);
    ::sigaction(deadly.signal, &action, nullptr);
  }
}

CrashScope::CrashScope(std::string_view doing) noexcept : outer_(t_doing) {
  EnsureSignalStack();
  t_doing = doing;
}

CrashScope::~CrashScope() { t_doing = outer_; }

void SetCrashAdvice(std::string_view advice) noexcept {
  g_advice_size = 0;
  const std::size_t size = std::min(advice.size(), g_advice.size());
  // A path of the user's, in a buffer that a handler may read: no memory is asked for.
  std::transform(advice.begin(), advice.begin() + static_cast<std::ptrdiff_t>(size), g_advice.begin(),
                 [](char c) { return (c >= 0 && c < ' ') || c == '\x7f' ? '?' : c; });
  g_advice_size = size;
}

}  // namespace medley
