// A seccomp filter turns each system call that names or uses a file into SIGSYS; the handler, which runs in
// the calling thread, looks at the paths, does what the trial asks, and makes the call itself from the one
// address that the filter lets through. Nothing is missed, whoever calls, and a call costs microseconds.
#include "tests/crash/injector.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string_view>

// long medley_crash_call(number, six arguments): the only place whose system calls are not trapped.
extern "C" long medley_crash_call(long number, long a, long b, long c, long d, long e, long f);
extern "C" const char medley_crash_called[];
asm(R"(
.text
.globl medley_crash_call, medley_crash_called
.hidden medley_crash_call, medley_crash_called
.type medley_crash_call, @function
medley_crash_call:
  movq %rdi, %rax
  movq %rsi, %rdi
  movq %rdx, %rsi
  movq %rcx, %rdx
  movq %r8, %r10
  movq %r9, %r8
  movq 8(%rsp), %r9
  syscall
medley_crash_called:
  ret
.size medley_crash_call, . - medley_crash_call
)");

namespace medley::crash {
namespace {

// Which errors a call can return (besides EIO, which all can).
enum Can : unsigned { kSpace = 1, kInterrupted = 2, kDescriptors = 4, kShortened = 8, kNoError = 16 };

// Where a call's file is: in a descriptor, or a path that is relative to one.
enum class Names { kFd, kPath, kAt, kTwoPaths, kTwoAt, kPathLast };

struct Call {
  long number;
  const char* name;
  Names names;
  unsigned can;
};

constexpr Call kCalls[] = {
    {SYS_open, "open", Names::kPath, kInterrupted | kDescriptors},
    {SYS_openat, "openat", Names::kAt, kInterrupted | kDescriptors},
    {SYS_creat, "creat", Names::kPath, kSpace | kInterrupted | kDescriptors},
    {SYS_close, "close", Names::kFd, kInterrupted},
    {SYS_read, "read", Names::kFd, kInterrupted | kShortened},
    {SYS_pread64, "pread", Names::kFd, kInterrupted | kShortened},
    {SYS_readv, "readv", Names::kFd, kInterrupted},
    {SYS_write, "write", Names::kFd, kSpace | kInterrupted | kShortened},
    {SYS_pwrite64, "pwrite", Names::kFd, kSpace | kInterrupted | kShortened},
    {SYS_writev, "writev", Names::kFd, kSpace | kInterrupted},
    {SYS_lseek, "lseek", Names::kFd, kNoError},
    {SYS_fsync, "fsync", Names::kFd, kSpace | kInterrupted},
    {SYS_fdatasync, "fdatasync", Names::kFd, kSpace | kInterrupted},
    {SYS_ftruncate, "ftruncate", Names::kFd, kSpace | kInterrupted},
    {SYS_truncate, "truncate", Names::kPath, kInterrupted},
    {SYS_fallocate, "fallocate", Names::kFd, kSpace | kInterrupted},
    {SYS_flock, "flock", Names::kFd, kInterrupted},
    {SYS_getdents64, "getdents", Names::kFd, 0},
    {SYS_fstat, "fstat", Names::kFd, 0},
    {SYS_stat, "stat", Names::kPath, 0},
    {SYS_lstat, "lstat", Names::kPath, 0},
    {SYS_newfstatat, "fstatat", Names::kAt, 0},
    {SYS_statx, "statx", Names::kAt, 0},
    {SYS_statfs, "statfs", Names::kPath, kInterrupted},
    {SYS_fstatfs, "fstatfs", Names::kFd, kInterrupted},
    {SYS_access, "access", Names::kPath, 0},
    {SYS_faccessat, "faccessat", Names::kAt, 0},
    {SYS_faccessat2, "faccessat2", Names::kAt, 0},
    {SYS_readlink, "readlink", Names::kPath, 0},
    {SYS_readlinkat, "readlinkat", Names::kAt, 0},
    {SYS_mkdir, "mkdir", Names::kPath, kSpace},
    {SYS_mkdirat, "mkdirat", Names::kAt, kSpace},
    {SYS_rmdir, "rmdir", Names::kPath, 0},
    {SYS_unlink, "unlink", Names::kPath, 0},
    {SYS_unlinkat, "unlinkat", Names::kAt, 0},
    {SYS_rename, "rename", Names::kTwoPaths, kSpace},
    {SYS_renameat, "renameat", Names::kTwoAt, kSpace},
    {SYS_renameat2, "renameat2", Names::kTwoAt, kSpace},
    {SYS_link, "link", Names::kTwoPaths, kSpace},
    {SYS_linkat, "linkat", Names::kTwoAt, kSpace},
    {SYS_symlink, "symlink", Names::kPathLast, kSpace},
    {SYS_chmod, "chmod", Names::kPath, 0},
    {SYS_fchmod, "fchmod", Names::kFd, 0},
    {SYS_utimensat, "utimensat", Names::kAt, 0},
    {SYS_copy_file_range, "copy_file_range", Names::kFd, kSpace},
    {SYS_sendfile, "sendfile", Names::kFd, kSpace},
};

constexpr std::size_t kMostPath = 1024;

Injection g_injection;
Seen* g_seen = nullptr;
std::atomic_flag g_busy = ATOMIC_FLAG_INIT;  // a traced call and its line are one
int g_trace = -1, g_data = -1;

long Do(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
  return medley_crash_call(number, a, b, c, d, e, f);
}

struct Path {
  char text[kMostPath] = {};
  std::size_t size = 0;

  void Append(const char* from, std::size_t count) {
    count = std::min(count, kMostPath - 1 - size);
    std::memcpy(text + size, from, count);
    size += count;
    text[size] = '\0';
  }
};

void AppendLink(Path& path, const char* link) {
  const long size =
      Do(SYS_readlink, reinterpret_cast<long>(link), reinterpret_cast<long>(path.text + path.size),
         static_cast<long>(kMostPath - 1 - path.size));
  if (size > 0) path.size += static_cast<std::size_t>(size);
  path.text[path.size] = '\0';
}

void AppendDescriptor(Path& path, long fd) {
  char link[40];
  std::snprintf(link, sizeof link, "/proc/self/fd/%ld", fd);
  AppendLink(path, fd == AT_FDCWD ? "/proc/self/cwd" : link);
}

// Without "//", "/." and "/..".
void Normalize(Path& path) {
  Path clean;
  const char* next = path.text;
  while (*next != '\0') {
    const char* end = std::strchr(next, '/');
    const std::size_t size = end != nullptr ? static_cast<std::size_t>(end - next) : std::strlen(next);
    const std::string_view part(next, size);
    if (part == "..") {
      while (clean.size > 0 && clean.text[--clean.size] != '/') continue;
      clean.text[clean.size] = '\0';
    } else if (!part.empty() && part != ".") {
      clean.Append("/", 1);
      clean.Append(next, size);
    }
    if (end == nullptr) break;
    next = end + 1;
  }
  path = clean;
}

Path PathAt(long directory, const char* name) {
  Path path;
  if (name == nullptr) return path;
  if (name[0] != '/') {
    AppendDescriptor(path, directory);
    if (name[0] != '\0') path.Append("/", 1);
  }
  path.Append(name, std::strlen(name));
  if (name[0] != '\0') Normalize(path);
  return path;
}

bool Watched(const Path& path) {
  for (const std::string& root : g_injection.watched) {
    if (std::string_view(path.text, path.size).substr(0, root.size()) != root) continue;
    if (path.size == root.size() || path.text[root.size()] == '/') return true;
  }
  return false;
}

struct Made {
  const Call* call = nullptr;
  long arguments[6] = {};
  Path path, to;

  long Real() const {
    return Do(call->number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
              arguments[5]);
  }
  const char* Text(int i) const { return reinterpret_cast<const char*>(arguments[i]); }
  bool Creates() const {
    const int flags = call->number == SYS_openat ? 2 : 1;
    return (call->number == SYS_open || call->number == SYS_openat) && (arguments[flags] & O_CREAT) != 0;
  }
  unsigned Can() const { return call->can | (Creates() ? kSpace : 0U); }
  bool CanFail(int error) const {
    if (error == ENOSPC) return (Can() & kSpace) != 0;
    if (error == EINTR) return (Can() & kInterrupted) != 0;
    if (error == EMFILE) return (Can() & kDescriptors) != 0;
    return (Can() & kNoError) == 0;
  }
  bool IsWrite() const { return call->number == SYS_write || call->number == SYS_pwrite64; }
};

void FindPaths(Made& made) {
  switch (made.call->names) {
    case Names::kFd:
      AppendDescriptor(made.path, made.arguments[0]);
      return;
    case Names::kPath:
      made.path = PathAt(AT_FDCWD, made.Text(0));
      return;
    case Names::kAt:
      made.path = PathAt(made.arguments[0], made.Text(1));
      return;
    case Names::kTwoPaths:
      made.path = PathAt(AT_FDCWD, made.Text(0));
      made.to = PathAt(AT_FDCWD, made.Text(1));
      return;
    case Names::kTwoAt:
      made.path = PathAt(made.arguments[0], made.Text(1));
      made.to = PathAt(made.arguments[2], made.Text(3));
      return;
    case Names::kPathLast:
      made.path = PathAt(AT_FDCWD, made.Text(1));
      return;
  }
}

void Print(int fd, const char* text, std::size_t size) {
  Do(SYS_write, fd, reinterpret_cast<long>(text), static_cast<long>(size));
}

// number, call, path, second path, offset, size, result, errors that it can return. The offset is that of
// the write, whose bytes are the next ones of the file of data; of an open it is its flags.
void Trace(std::int64_t n, const Made& made, long offset, long result) {
  char line[3 * kMostPath];
  const long size = made.call->names == Names::kFd ? made.arguments[2] : 0;
  const bool fallocates = made.call->number == SYS_fallocate, cuts = made.call->number == SYS_ftruncate;
  if (fallocates) offset = made.arguments[2];
  if (made.call->number == SYS_open) offset = made.arguments[1];
  if (made.call->number == SYS_openat) offset = made.arguments[2];
  const int length = std::snprintf(
      line, sizeof line, "%lld\t%s\t%s\t%s\t%ld\t%ld\t%ld\t%s%s%s%s%s\n", static_cast<long long>(n),
      made.call->name, made.path.text, made.to.text, offset,
      fallocates ? made.arguments[3] : (cuts ? made.arguments[1] : size), result,
      made.Creates() ? "creates," : "", made.CanFail(EIO) ? "EIO," : "",
      made.CanFail(ENOSPC) ? "ENOSPC," : "", made.CanFail(EINTR) ? "EINTR," : "",
      made.CanFail(EMFILE) ? "EMFILE," : ((made.Can() & kShortened) != 0 && size > 1 ? "short," : ""));
  Print(g_trace, line, static_cast<std::size_t>(length));
  if (made.IsWrite() && result > 0) Print(g_data, made.Text(1), static_cast<std::size_t>(result));
}

// With what is left of the bytes.
long Half(Made made) {
  if ((made.call->can & kShortened) != 0) made.arguments[2] = std::max(1L, made.arguments[2] / 2);
  return made.Real();
}

long Fail(const Made& made, int error) {
  if (made.call->number == SYS_close) made.Real();  // Linux frees the descriptor whatever close says
  return -error;
}

[[noreturn]] void Die() {
  Do(SYS_kill, Do(SYS_getpid), SIGKILL);
  while (true) continue;
}

// Not for the calls of its handler.
void Signal() {
  static std::atomic_flag handling = ATOMIC_FLAG_INIT;
  if (handling.test_and_set()) return;
  Do(SYS_tgkill, Do(SYS_getpid), Do(SYS_gettid), g_injection.error);
  handling.clear();
}

long DoFault(const Made& made) {
  std::snprintf(g_seen->hit, sizeof g_seen->hit, "%s %.400s", made.call->name, made.path.text);
  switch (g_injection.fault) {
    case Fault::kKill:
      Die();
    case Fault::kTorn:
      if (made.IsWrite()) Half(made);
      Die();
    case Fault::kError:
      return made.CanFail(g_injection.error) ? Fail(made, g_injection.error) : made.Real();
    case Fault::kShort:
      return Half(made);
    case Fault::kSignal:
      Signal();
      break;
    case Fault::kNone:
      break;
  }
  return made.Real();
}

long DoTraced(std::int64_t n, const Made& made) {
  const long offset = made.call->number == SYS_write
                          ? Do(SYS_lseek, made.arguments[0], 0, SEEK_CUR)
                          : (made.call->number == SYS_pwrite64 ? made.arguments[3] : 0);
  const long flags = made.call->names == Names::kFd ? Do(SYS_fcntl, made.arguments[0], F_GETFL) : 0;
  const long result = made.Real();
  const bool appends = flags > 0 && (flags & O_APPEND) != 0 && made.IsWrite() && result > 0;
  Trace(n, made, appends ? Do(SYS_lseek, made.arguments[0], 0, SEEK_CUR) - result : offset, result);
  return result;
}

// What a user sees is part of the order of things: "saved step 4" is said after this and before that.
bool IsSaying(const Made& made) {
  return made.call->number == SYS_write && made.arguments[0] == STDOUT_FILENO;
}

long Answer(const Made& made) {
  if (!Watched(made.path) && !(made.to.size > 0 && Watched(made.to))) {
    if (g_trace < 0 || !IsSaying(made)) return made.Real();
    while (g_busy.test_and_set()) continue;
    const long result = made.Real();
    Trace(0, made, 0, result);
    g_busy.clear();
    return result;
  }
  const std::int64_t n = __atomic_add_fetch(&g_seen->calls, 1, __ATOMIC_SEQ_CST);
  if (n == g_injection.at) return DoFault(made);
  const bool is_later = n > g_injection.at && g_injection.persists;
  if (is_later && g_injection.fault == Fault::kSignal) Signal();
  if (is_later && g_injection.fault == Fault::kError && made.CanFail(g_injection.error))
    return Fail(made, g_injection.error);
  if (g_trace < 0) return made.Real();
  while (g_busy.test_and_set()) continue;
  const long result = DoTraced(n, made);
  g_busy.clear();
  return result;
}

void OnTrap(int, siginfo_t* info, void* context) {
  greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  Made made;
  constexpr int kOrder[] = {REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9};
  for (std::size_t i = 0; i < std::size(kOrder); ++i) made.arguments[i] = registers[kOrder[i]];
  for (const Call& call : kCalls) {
    if (call.number == info->si_syscall) made.call = &call;
  }
  if (made.call == nullptr) return;
  FindPaths(made);
  registers[REG_RAX] = Answer(made);
}

void Append(std::vector<sock_filter>& filter, std::uint16_t code, std::uint32_t k, std::uint8_t yes = 0,
            std::uint8_t no = 0) {
  filter.push_back({code, yes, no, k});
}

// Our address: go on. One of our calls: trap. All else: go on.
std::vector<sock_filter> Filter() {
  const auto address = reinterpret_cast<std::uint64_t>(medley_crash_called);
  const auto low = static_cast<std::uint32_t>(address), high = static_cast<std::uint32_t>(address >> 32);
  std::vector<sock_filter> filter;
  const std::uint32_t pointer = offsetof(seccomp_data, instruction_pointer);
  Append(filter, BPF_LD | BPF_W | BPF_ABS, pointer);
  Append(filter, BPF_JMP | BPF_JEQ | BPF_K, low, 0, 3);
  Append(filter, BPF_LD | BPF_W | BPF_ABS, pointer + 4);
  Append(filter, BPF_JMP | BPF_JEQ | BPF_K, high, 0, 1);
  Append(filter, BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  Append(filter, BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
  auto left = static_cast<std::uint8_t>(std::size(kCalls));
  for (const Call& call : kCalls)
    Append(filter, BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call.number), left--);
  Append(filter, BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  Append(filter, BPF_RET | BPF_K, SECCOMP_RET_TRAP);
  return filter;
}

void Require(bool holds, const char* what) {
  if (holds) return;
  std::perror(what);
  std::_Exit(125);
}

// Out of the way of the descriptors that the command would get.
int OpenTrace(const std::string& path) {
  const int low = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
  Require(low >= 0, path.c_str());
  const int fd = ::fcntl(low, F_DUPFD_CLOEXEC, 200);
  ::close(low);
  return fd;
}

}  // namespace

void Inject(const Injection& injection, Seen& seen) {
  g_injection = injection;
  g_seen = &seen;
  if (!injection.trace.empty()) {
    g_trace = OpenTrace(injection.trace);
    g_data = OpenTrace(injection.trace + ".data");
  }
  struct sigaction action {};
  action.sa_sigaction = OnTrap;
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART;
  Require(::sigaction(SIGSYS, &action, nullptr) == 0, "sigaction");
  std::vector<sock_filter> filter = Filter();
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  Require(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "prctl");
  Require(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0, "seccomp");
}

}  // namespace medley::crash
