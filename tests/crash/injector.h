#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace medley::crash {

// What is done to this process at its n-th file-system call on a watched path, counted from 1.
enum class Fault {
  kNone,    // calls are counted alone
  kKill,    // SIGKILL before the call
  kTorn,    // SIGKILL after half of the bytes of a write
  kError,   // the call fails with `error`
  kShort,   // a read or write takes half of the bytes
  kSignal,  // the thread gets the signal `error` before the call, with `persists` before each later one too
};

struct Injection {
  Fault fault = Fault::kNone;
  std::int64_t at = 0;
  int error = 0;
  bool persists = false;  // later calls that can fail with `error` fail too: a disk that stays full
  std::vector<std::string> watched;  // absolute paths without links: these and all below
  std::string trace;                 // "": none. A line a call, and <trace>.data: the bytes of all writes
};

// Shared with the process that looks on, for this one may be killed.
struct Seen {
  std::int64_t calls = 0;
  char hit[512] = {};  // "write /path": where the fault was
};

// From here on every file-system call of this process goes through the injector: libc's and libstdc++'s own
// too, in every thread. For a process with one thread, once.
void Inject(const Injection& injection, Seen& seen);

}  // namespace medley::crash
