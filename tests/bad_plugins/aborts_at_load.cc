// Ends the process when it is loaded. Listed and never drawn, it must not hurt.
#include <cstdlib>

#include <medley/task/plugin.h>

#include "tests/plugin/fixtures/tiny.h"

namespace medley::testing {

struct AbortsAtLoad final : TinyTask {
  using TinyTask::TinyTask;
  static constexpr TaskSpec kSpec = TinySpec("aborts_at_load");
};

[[gnu::constructor]] static void Abort() { std::abort(); }

MEDLEY_PLUGIN(AbortsAtLoad)

}  // namespace medley::testing
