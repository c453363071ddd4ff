// Calls what nobody defines. Lazy binding would find out in the middle of a run.
#include <medley/task/plugin.h>

#include "tests/plugin/fixtures/tiny.h"

namespace medley::testing {

int DefinedNowhere();

struct UndefinedSymbol final : TinyTask {
  using TinyTask::TinyTask;
  static constexpr TaskSpec kSpec = TinySpec("undefined_symbol");
  Sums Run(std::string_view, PassContext&) const override { return {{"sum", at::arange(DefinedNowhere())}}; }
};

MEDLEY_PLUGIN(UndefinedSymbol)

}  // namespace medley::testing
