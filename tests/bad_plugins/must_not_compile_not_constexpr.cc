// expect: medley: kSpec must be constexpr
#include <medley/task/plugin.h>

#include "tests/plugin/fixtures/tiny.h"

namespace medley::testing {

struct Bad final : TinyTask {
  using TinyTask::TinyTask;
  static const TaskSpec kSpec;
};
const TaskSpec Bad::kSpec = TinySpec("bad");

MEDLEY_PLUGIN(Bad)

}  // namespace medley::testing
