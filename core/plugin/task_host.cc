#include <medley/plugin/task_host.h>

namespace medley {

TaskHost::~TaskHost() = default;

}  // namespace medley
