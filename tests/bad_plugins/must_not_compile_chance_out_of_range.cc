// expect: medley: a score's low must be below its high, and its chance between the two
#include <medley/task/plugin.h>

#include "tests/plugin/fixtures/tiny.h"

namespace medley::testing {

struct Bad final : TinyTask {
  using TinyTask::TinyTask;
  static constexpr TaskSpec kSpec{.name = "bad",
                                  .passes = {{.name = "a"}},
                                  .terms = {{.name = "t"}},
                                  .score = {.name = "accuracy", .chance = 1.5, .low = 0, .high = 1}};
};

MEDLEY_PLUGIN(Bad)

}  // namespace medley::testing
