// expect: a weight a number of 0 or more
#include <medley/task/plugin.h>

#include "tests/plugin/fixtures/tiny.h"

namespace medley::testing {

struct Bad final : TinyTask {
  using TinyTask::TinyTask;
  static constexpr TaskSpec kSpec{
      .name = "bad", .passes = {{.name = "a"}}, .terms = {{.name = "t", .weight = -1}}};
};

MEDLEY_PLUGIN(Bad)

}  // namespace medley::testing
