// expect: medley: two constants have the same name
#include <medley/task/plugin.h>

#include "tests/plugin/fixtures/tiny.h"

namespace medley::testing {

struct Bad final : TinyTask {
  using TinyTask::TinyTask;
  static constexpr TaskSpec kSpec{
      .name = "bad",
      .passes = {{.name = "a"}},
      .terms = {{.name = "t"}},
      .constants = {{.name = "c", .rows = 1, .width = 1}, {.name = "c", .rows = 2, .width = 2}}};
};

MEDLEY_PLUGIN(Bad)

}  // namespace medley::testing
