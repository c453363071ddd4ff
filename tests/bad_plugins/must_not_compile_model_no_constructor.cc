// expect: medley: a model class needs a public constructor that takes a const medley::ModelContext&
#include <medley/task/plugin.h>

#include "tests/plugin/fixtures/tiny_model.h"

namespace medley::testing {

struct Bad final : TinyModel {
  static constexpr ModelSpec kSpec = TinyModelSpec("bad");
  using TinyModel::TinyModel;
};

MEDLEY_PLUGIN(Bad)

}  // namespace medley::testing
