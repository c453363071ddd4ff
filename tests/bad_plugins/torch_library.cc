// Built twice: each defines the same namespace of operators, which a process can only do once.
#include <torch/library.h>

#include <medley/task/plugin.h>

#include "tests/plugin/fixtures/tiny.h"

TORCH_LIBRARY(medley_fixture, library) { library.def("nothing() -> ()"); }

namespace medley::testing {

struct TorchLibrary final : TinyTask {
  using TinyTask::TinyTask;
  static constexpr TaskSpec kSpec = TinySpec(TORCH_LIBRARY_NAME);
};

MEDLEY_PLUGIN(TorchLibrary)

}  // namespace medley::testing
