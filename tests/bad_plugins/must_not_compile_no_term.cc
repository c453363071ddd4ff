// expect: medley: a task must have at least one loss term
#include <medley/task/plugin.h>

#include "tests/plugin/fixtures/tiny.h"

namespace medley::testing {

struct Bad final : TinyTask {
  using TinyTask::TinyTask;
  static constexpr TaskSpec kSpec{.name = "bad", .passes = {{.name = "a"}}};
};

MEDLEY_PLUGIN(Bad)

}  // namespace medley::testing
