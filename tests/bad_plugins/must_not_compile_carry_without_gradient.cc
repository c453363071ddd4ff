// expect: medley: a pass without a gradient (.no_gradient, or of a .reference) carries something; name
#include <medley/task/plugin.h>

#include "tests/plugin/fixtures/tiny.h"

namespace medley::testing {

struct Bad final : TinyTask {
  using TinyTask::TinyTask;
  static constexpr TaskSpec kSpec{
      .name = "bad",
      .passes = {{.name = "a", .carries = {"kept"}, .reference = "start"}, {.name = "b"}},
      .terms = {{.name = "t"}}};
};

MEDLEY_PLUGIN(Bad)

}  // namespace medley::testing
