// expect: MEDLEY_PLUGIN_may_stand_only_once_in_a_plugin
#include <medley/task/plugin.h>

#include "tests/plugin/fixtures/tiny.h"

namespace medley::testing {

struct Good final : TinyTask {
  using TinyTask::TinyTask;
  static constexpr TaskSpec kSpec = TinySpec("good");
};

MEDLEY_PLUGIN(Good)
MEDLEY_PLUGIN(Good)

}  // namespace medley::testing
