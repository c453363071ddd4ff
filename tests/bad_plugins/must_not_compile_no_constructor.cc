// expect: medley: a task class needs a public constructor
#include <medley/task/plugin.h>

#include "tests/plugin/fixtures/tiny.h"

namespace medley::testing {

struct Bad final : TinyTask {
  Bad();
  static constexpr TaskSpec kSpec = TinySpec("bad");
};

MEDLEY_PLUGIN(Bad)

}  // namespace medley::testing
