// expect: medley: a model class needs a public `static constexpr medley::ModelSpec kSpec`
#include <medley/task/plugin.h>

#include "tests/plugin/fixtures/tiny_model.h"

namespace medley::testing {

struct Bad final : TinyModel {
  explicit Bad(const ModelContext& context) : TinyModel(TinyModelSpec("bad"), context) {}
};

MEDLEY_PLUGIN(Bad)

}  // namespace medley::testing
