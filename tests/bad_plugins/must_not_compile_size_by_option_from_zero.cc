// expect: medley: .text_width_of and .max_items_of name a number option of this spec whose low is 1
#include <medley/task/plugin.h>

#include "tests/plugin/fixtures/tiny.h"

namespace medley::testing {

struct Bad final : TinyTask {
  using TinyTask::TinyTask;
  static constexpr TaskSpec kSpec{.name = "bad",
                                  .passes = {{.name = "a"}},
                                  .terms = {{.name = "t", .max_items_of = "widths"}},
                                  .options = {{.name = "widths", .value = 2, .low = 0, .high = 8}}};
};

MEDLEY_PLUGIN(Bad)

}  // namespace medley::testing
