#include <medley/task/task.h>

namespace medley {

Task::~Task() = default;

double TaskContext::Option(std::string_view name) const {
  const auto found = options.find(name);
  if (found != options.end()) return found->second;
  std::string known;
  for (const auto& [option, value] : options) known += (known.empty() ? "" : ", ") + option;
  throw Error("the spec has no option '" + std::string(name) +
              "'; it has: " + (known.empty() ? "none" : known));
}

}  // namespace medley
