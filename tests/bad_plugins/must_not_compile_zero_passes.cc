// expect: medley: a task must make at least one pass
#include <medley/task/plugin.h>

#include "tests/plugin/fixtures/tiny.h"

namespace medley::testing {

struct Bad final : TinyTask {
  using TinyTask::TinyTask;
  static constexpr TaskSpec kSpec{.name = "bad", .terms = {{.name = "t"}}};
};

MEDLEY_PLUGIN(Bad)

}  // namespace medley::testing
