// expect: medley: a variant's summary must be one line of at most 200 bytes, without control characters
#include <medley/task/plugin.h>

#include "tests/plugin/fixtures/tiny.h"

namespace medley::testing {

struct Bad final : TinyTask {
  using TinyTask::TinyTask;
  static constexpr TaskSpec kSpec{
      .name = "bad",
      .passes = {{.name = "a"}},
      .terms = {{.name = "t"}},
      .variants = {
          {.name = "v", .passes = {{.name = "a"}}, .terms = {{.name = "t"}}, .summary = "two\nlines"}}};
};

MEDLEY_PLUGIN(Bad)

}  // namespace medley::testing
