#include <medley/task/task.h>

#include <medley/base/suggest.h>

namespace medley {

Task::~Task() = default;

double TaskContext::Option(std::string_view name) const {
  const auto found = options.find(name);
  if (found != options.end()) return found->second;
  throw Error("the spec has no option '" + std::string(name) + "'; it has: " + Listed(options));
}

}  // namespace medley
