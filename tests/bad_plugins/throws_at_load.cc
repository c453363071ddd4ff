// Throws before anybody can catch: when it is loaded.
#include <stdexcept>

#include <medley/task/plugin.h>

#include "tests/plugin/fixtures/tiny.h"

namespace medley::testing {

struct ThrowsAtLoad final : TinyTask {
  using TinyTask::TinyTask;
  static constexpr TaskSpec kSpec = TinySpec("throws_at_load");
};

[[gnu::constructor]] static void Throw() { throw std::runtime_error("no table in a constructor"); }

MEDLEY_PLUGIN(ThrowsAtLoad)

}  // namespace medley::testing
