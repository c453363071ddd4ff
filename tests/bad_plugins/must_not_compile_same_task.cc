// expect: medley: two tasks of a plugin have the same name
#include <medley/task/plugin.h>

#include "tests/plugin/fixtures/tiny.h"

namespace medley::testing {

struct Good final : TinyTask {
  using TinyTask::TinyTask;
  static constexpr TaskSpec kSpec = TinySpec("good");
};

MEDLEY_PLUGIN(Good, Good)

}  // namespace medley::testing
