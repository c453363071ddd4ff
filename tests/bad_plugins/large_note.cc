// A note of more than 64 KiB; no real plugin can have one, its macro would not compile.
#include <medley/task/plugin.h>

namespace medley::detail {

[[gnu::section(".note.medley"), gnu::used, gnu::retain, gnu::aligned(4)]] static constexpr Note<70'000>
    kLargeNote{};

}  // namespace medley::detail
