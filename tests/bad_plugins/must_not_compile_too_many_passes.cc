// expect: FitsTheFormat<medley::facts::ListLength{"passes", 9, 8}>
// without: kSpec must be constexpr
#include <medley/task/plugin.h>

#include "tests/plugin/fixtures/tiny.h"

namespace medley::testing {

struct Bad final : TinyTask {
  using TinyTask::TinyTask;
  static constexpr TaskSpec kSpec{.name = "bad",
                                  .passes = {{.name = "a"},
                                             {.name = "b"},
                                             {.name = "c"},
                                             {.name = "d"},
                                             {.name = "e"},
                                             {.name = "f"},
                                             {.name = "g"},
                                             {.name = "h"},
                                             {.name = "i"}},
                                  .terms = {{.name = "t"}}};
};

MEDLEY_PLUGIN(Bad)

}  // namespace medley::testing
