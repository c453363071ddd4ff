// expect: medley: a carry is named twice
#include <medley/task/plugin.h>

#include "tests/plugin/fixtures/tiny.h"

namespace medley::testing {

struct Bad final : TinyTask {
  using TinyTask::TinyTask;
  static constexpr TaskSpec kSpec{.name = "bad",
                                  .passes = {{.name = "a", .carries = {"h"}, .keeps = {"h"}}, {.name = "b"}},
                                  .terms = {{.name = "t"}}};
};

MEDLEY_PLUGIN(Bad)

}  // namespace medley::testing
