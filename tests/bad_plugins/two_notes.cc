// A second note, as a plugin linked from two halves would have.
#include <medley/task/plugin.h>

#include "tests/plugin/fixtures/tiny.h"

namespace medley::testing {

struct TwoNotes final : TinyTask {
  using TinyTask::TinyTask;
  static constexpr TaskSpec kSpec = TinySpec("two_notes");
};

MEDLEY_PLUGIN(TwoNotes)
[[gnu::section(".note.medley"), gnu::used, gnu::retain, gnu::aligned(4)]] static constexpr auto kSecond =
    kMedleyNote;

}  // namespace medley::testing
