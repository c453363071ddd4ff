// expect: medley: a text of a task spec is longer than 4096 bytes
#include <medley/task/plugin.h>

#include <array>

#include "tests/plugin/fixtures/tiny.h"

namespace medley::testing {

constexpr std::array<char, 5000> kSpaces{};

struct Bad final : TinyTask {
  using TinyTask::TinyTask;
  static constexpr TaskSpec kSpec{
      .name = "bad",
      .passes = {{.name = "a"}},
      .terms = {{.name = "t"}},
      .options = {{.name = "o", .summary = std::string_view(kSpaces.data(), kSpaces.size())}}};
};

MEDLEY_PLUGIN(Bad)

}  // namespace medley::testing
