// An entry of an older medley (smaller), of a newer one (larger), or one that shows another note than the
// file has: ENTRY_SIZE and ENTRY_NOTE say which.
#include <medley/task/plugin.h>

#include "tests/plugin/fixtures/tiny.h"

namespace medley::testing {

struct Entry final : TinyTask {
  using TinyTask::TinyTask;
  static constexpr TaskSpec kSpec = TinySpec("entry");
};

[[gnu::section(".note.medley"), gnu::used, gnu::retain, gnu::aligned(4)]] static constexpr auto kMedleyNote =
    detail::CheckedNote<Entry>();

// A newer medley's.
struct LargerEntry {
  PluginEntry known;
  int (*unknown)();
};

extern "C" [[gnu::visibility("default"), gnu::used]] const PluginEntry* MEDLEY_PLUGIN_ENTRY() {
  using Code = detail::PluginCode<detail::TasksOf<Entry>, detail::ModelsOf<Entry>>;
  static constexpr char kOtherNote[] = "{\"abi\":{}}";
  static constexpr LargerEntry kEntry{.known = {.size = ENTRY_SIZE,
                                                .task_count = Code::kTasks,
                                                .model_count = Code::kModels,
                                                .note = ENTRY_NOTE,
                                                .note_size = sizeof ENTRY_NOTE,
                                                .make = &Code::Make,
                                                .texts = &Code::Texts,
                                                .make_model = &Code::MakeModel,
                                                .classes = &Code::Classes},
                                      .unknown = nullptr};
  static_assert(sizeof kOtherNote > 0);
  return &kEntry.known;
}

}  // namespace medley::testing
