// expect: medley: nothing of a term would be learned
#include <medley/task/plugin.h>

#include "tests/plugin/fixtures/tiny.h"

namespace medley::testing {

struct Bad final : TinyTask {
  using TinyTask::TinyTask;
  static constexpr TaskSpec kSpec{
      .name = "bad", .passes = {{.name = "a", .no_gradient = true}}, .terms = {{.name = "t"}}};
};

MEDLEY_PLUGIN(Bad)

}  // namespace medley::testing
