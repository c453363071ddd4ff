// Was compiled with another libtorch, and its note lies about it: the symbol that it links against tells.
#include <medley/task/plugin.h>

#include "tests/plugin/fixtures/tiny.h"

#undef TORCH_VERSION_MINOR
#define TORCH_VERSION_MINOR 999
extern "C" const char MEDLEY_LINK_CANARY;

namespace medley::testing {

struct OtherTorch final : TinyTask {
  using TinyTask::TinyTask;
  static constexpr TaskSpec kSpec = TinySpec("other_torch");
};

MEDLEY_PLUGIN(OtherTorch)

}  // namespace medley::testing
