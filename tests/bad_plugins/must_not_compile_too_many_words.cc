// expect: FitsTheFormat<medley::facts::ListLength{"words", 10, 8}>
#include <medley/task/plugin.h>

#include "tests/plugin/fixtures/tiny.h"

namespace medley::testing {

struct Bad final : TinyTask {
  using TinyTask::TinyTask;
  static constexpr TaskSpec kSpec{
      .name = "bad",
      .passes = {{.name = "a"}},
      .terms = {{.name = "t"}},
      .options = {WordOption("o", {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}, "one of ten")}};
};

MEDLEY_PLUGIN(Bad)

}  // namespace medley::testing
