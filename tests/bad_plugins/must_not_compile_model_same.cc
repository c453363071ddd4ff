// expect: medley: two models of a plugin have the same name
#include <medley/task/plugin.h>

#include "tests/plugin/fixtures/tiny_model.h"

namespace medley::testing {

struct Good final : TinyModel {
  static constexpr ModelSpec kSpec = TinyModelSpec("good");
  explicit Good(const ModelContext& context) : TinyModel(kSpec, context) {}
};

MEDLEY_PLUGIN(Good, Good)

}  // namespace medley::testing
