// expect: medley: a constant needs 1 or more rows
#include <medley/task/plugin.h>

#include "tests/plugin/fixtures/tiny.h"

namespace medley::testing {

struct Bad final : TinyTask {
  using TinyTask::TinyTask;
  static constexpr TaskSpec kSpec{.name = "bad",
                                  .passes = {{.name = "a"}},
                                  .terms = {{.name = "t"}},
                                  .constants = {{.name = "c", .rows = 1, .width = 1, .dtype = "int32"}}};
};

MEDLEY_PLUGIN(Bad)

}  // namespace medley::testing
