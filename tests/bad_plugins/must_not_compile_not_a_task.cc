// expect: medley: a class named in MEDLEY_PLUGIN must derive from medley::Task
#include <medley/task/plugin.h>

#include "tests/plugin/fixtures/tiny.h"

namespace medley::testing {

struct Bad {
  explicit Bad(const TaskContext&) {}
  static std::vector<std::string> Texts() { return {}; }
  static constexpr TaskSpec kSpec = TinySpec("bad");
};

MEDLEY_PLUGIN(Bad)

}  // namespace medley::testing
