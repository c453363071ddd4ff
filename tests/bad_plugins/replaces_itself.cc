// Another file takes its place while it is being loaded: what was checked is not what runs from then on.
#include <dlfcn.h>

#include <filesystem>

#include <medley/task/plugin.h>

#include "tests/plugin/fixtures/tiny.h"

namespace medley::testing {

struct ReplacesItself final : TinyTask {
  using TinyTask::TinyTask;
  static constexpr TaskSpec kSpec = TinySpec("replaces_itself");
};

[[gnu::constructor]] static void Replace() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&Replace), &info) == 0) return;
  const std::filesystem::path path = info.dli_fname;
  std::error_code ignored;
  std::filesystem::copy_file(path, path.string() + ".new", ignored);
  std::filesystem::rename(path.string() + ".new", path, ignored);
}

MEDLEY_PLUGIN(ReplacesItself)

}  // namespace medley::testing
