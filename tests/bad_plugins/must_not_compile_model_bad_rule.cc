// expect: medley: a rule of a model needs an integer field
#include <medley/task/plugin.h>

#include "tests/plugin/fixtures/tiny_model.h"

namespace medley::testing {

struct Bad final : TinyModel {
  static constexpr ModelSpec kSpec = [] {
    ModelSpec spec = TinyModelSpec("bad");
    spec.fields = {IntegerField("heads", 2, 1, 8, "Heads")};
    spec.rules = {{.field = "heads", .divides = "width"}};
    return spec;
  }();
  explicit Bad(const ModelContext& context) : TinyModel(kSpec, context) {}
};

MEDLEY_PLUGIN(Bad)

}  // namespace medley::testing
