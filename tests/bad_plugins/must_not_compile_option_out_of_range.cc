// expect: medley: an option's value must lie between its low and high
#include <medley/task/plugin.h>

#include "tests/plugin/fixtures/tiny.h"

namespace medley::testing {

struct Bad final : TinyTask {
  using TinyTask::TinyTask;
  static constexpr TaskSpec kSpec{.name = "bad",
                                  .passes = {{.name = "a"}},
                                  .terms = {{.name = "t"}},
                                  .options = {{.name = "o", .value = 2}}};
};

MEDLEY_PLUGIN(Bad)

}  // namespace medley::testing
