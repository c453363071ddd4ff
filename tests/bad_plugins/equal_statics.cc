// Built twice, with the same names: each must keep its own count, although their statics are visible.
#include <ATen/ops/full.h>

#include <medley/task/plugin.h>

#include "tests/plugin/fixtures/tiny.h"

namespace medley::testing {

struct [[gnu::visibility("default")]] Shared {
  static int& Calls() {
    static int calls = 0;
    return calls;
  }
  inline static int constants = 0;
};

struct EqualStatics final : TinyTask {
  using TinyTask::TinyTask;
  static constexpr TaskSpec kSpec = TinySpec(EQUAL_STATICS_NAME);
  at::Tensor Constant(std::string_view) const override {
    return at::full({2, 4}, ++Shared::Calls() + ++Shared::constants, at::kLong);
  }
};

MEDLEY_PLUGIN(EqualStatics)

}  // namespace medley::testing
