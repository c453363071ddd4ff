// expect: medley: the default of a model's field must lie between its low and high
#include <medley/task/plugin.h>

#include "tests/plugin/fixtures/tiny_model.h"

namespace medley::testing {

struct Bad final : TinyModel {
  static constexpr ModelSpec kSpec = [] {
    ModelSpec spec = TinyModelSpec("bad");
    spec.fields = {IntegerField("width", 0, 1, 8, "Width")};
    return spec;
  }();
  explicit Bad(const ModelContext& context) : TinyModel(kSpec, context) {}
};

MEDLEY_PLUGIN(Bad)

}  // namespace medley::testing
