// expect: medley: a model needs inputs and outputs with different names
#include <medley/task/plugin.h>

#include "tests/plugin/fixtures/tiny_model.h"

namespace medley::testing {

struct Bad final : TinyModel {
  static constexpr ModelSpec kSpec = [] {
    ModelSpec spec = TinyModelSpec("bad");
    spec.inputs = {{.name = "numbers", .dimensions = {"rows", "frames"}}};
    return spec;
  }();
  explicit Bad(const ModelContext& context) : TinyModel(kSpec, context) {}
};

MEDLEY_PLUGIN(Bad)

}  // namespace medley::testing
