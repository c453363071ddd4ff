// Ends or holds up the process when it is loaded, as the macro ENDS_AT_LOAD says: only a child can try it.
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include <medley/task/plugin.h>

#include "tests/plugin/fixtures/tiny.h"

namespace medley::testing {

struct EndsAtLoad final : TinyTask {
  using TinyTask::TinyTask;
  static constexpr TaskSpec kSpec = TinySpec("ends_at_load");
};

[[maybe_unused]] static void Faults() { std::raise(SIGSEGV); }
[[maybe_unused]] static void Exits() { std::exit(7); }
[[maybe_unused]] static void Hangs() {
  while (true) pause();
}

[[gnu::constructor]] static void End() { ENDS_AT_LOAD(); }

MEDLEY_PLUGIN(EndsAtLoad)

}  // namespace medley::testing
