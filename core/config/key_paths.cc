#include <medley/config/key_paths.h>

#include <medley/base/json_document.h>

namespace medley {
namespace {

using nlohmann::ordered_json;

void AddKeys(const ordered_json& schema, const std::string& path, std::vector<std::string>& paths) {
  const auto add = [&](const std::string& name, const ordered_json& below) {
    const std::string key = JoinPath(path, name);
    paths.push_back(key);
    AddKeys(below, key, paths);
  };
  const auto properties = schema.find("properties");
  if (properties != schema.end()) {
    for (const auto& [name, below] : properties->items()) add(name, below);
  }
  for (const char* any : {"additionalProperties", "items"}) {
    if (const auto below = schema.find(any); below != schema.end() && below->is_object()) add("*", *below);
  }
}

}  // namespace

std::vector<std::string> KeyPathsIn(const ordered_json& schema) {
  std::vector<std::string> paths;
  AddKeys(schema, "", paths);
  return paths;
}

}  // namespace medley
