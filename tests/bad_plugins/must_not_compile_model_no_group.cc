// expect: medley: a model's fields need different names
#include <medley/task/plugin.h>

#include "tests/plugin/fixtures/tiny_model.h"

namespace medley::testing {

struct Bad final : TinyModel {
  static constexpr ModelSpec kSpec = [] {
    ModelSpec spec = TinyModelSpec("bad");
    spec.fields = {IntegerField("body.width", 2, 1, 8, "Width")};
    return spec;
  }();
  explicit Bad(const ModelContext& context) : TinyModel(kSpec, context) {}
};

MEDLEY_PLUGIN(Bad)

}  // namespace medley::testing
