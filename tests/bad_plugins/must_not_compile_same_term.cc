// expect: medley: two loss terms have the same name
#include <medley/task/plugin.h>

#include "tests/plugin/fixtures/tiny.h"

namespace medley::testing {

struct Bad final : TinyTask {
  using TinyTask::TinyTask;
  static constexpr TaskSpec kSpec{
      .name = "bad", .passes = {{.name = "a"}}, .terms = {{.name = "t"}, {.name = "t"}}};
};

MEDLEY_PLUGIN(Bad)

}  // namespace medley::testing
