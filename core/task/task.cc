#include <medley/task/task.h>

#include <medley/base/suggest.h>

namespace medley {

Task::~Task() = default;

namespace {

template <typename T>
const T& Value(const OptionValues& options, std::string_view name, const char* kind) {
  const auto found = options.find(name);
  if (found == options.end())
    throw Error("the spec has no option '" + std::string(name) + "'; it has: " + Listed(options));
  if (const T* value = std::get_if<T>(&found->second)) return *value;
  throw Error("the spec's option '" + std::string(name) + "' is not " + kind);
}

}  // namespace

double TaskContext::Option(std::string_view name) const { return Value<double>(options, name, "a number"); }
bool TaskContext::Switch(std::string_view name) const { return Value<bool>(options, name, "a switch"); }
const std::string& TaskContext::Word(std::string_view name) const {
  return Value<std::string>(options, name, "a word");
}
std::filesystem::path TaskContext::Path(std::string_view name) const {
  return Value<std::string>(options, name, "a path");
}

}  // namespace medley
