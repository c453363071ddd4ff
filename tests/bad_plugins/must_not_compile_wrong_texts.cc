// expect: medley: Texts of a task class must be `static std::vector<std::string> Texts()`
#include <medley/task/plugin.h>

#include "tests/plugin/fixtures/tiny.h"

namespace medley::testing {

struct Bad final : TinyTask {
  using TinyTask::TinyTask;
  static constexpr TaskSpec kSpec = TinySpec("bad");
  void Texts();
};

MEDLEY_PLUGIN(Bad)

}  // namespace medley::testing
