// expect: medley: a task class needs a public `static constexpr medley::TaskSpec kSpec
#include <medley/task/plugin.h>

#include "tests/plugin/fixtures/tiny.h"

namespace medley::testing {

struct Bad final : TinyTask {
  using TinyTask::TinyTask;
};

MEDLEY_PLUGIN(Bad)

}  // namespace medley::testing
