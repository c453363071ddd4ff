#include <medley/config/config_values.h>

#include <algorithm>

#include <medley/base/json_text.h>
#include <medley/config/run_config.h>

namespace medley {
namespace {

using nlohmann::ordered_json;

constexpr const char* kTasks = "tasks.";

void Flatten(const ordered_json& json, const std::string& path, ConfigValues& values) {
  if (!json.is_object()) {
    values[path] = JsonText(json);
    return;
  }
  for (const auto& [key, value] : json.items()) Flatten(value, path.empty() ? key : path + "." + key, values);
}

}  // namespace

ConfigValues ConfigValuesOf(const ordered_json& config) {
  ConfigValues values;
  Flatten(config, "", values);
  // A run that began before there was one evaluated by its own seed.
  if (values.contains("model") && values.contains("seed")) values.try_emplace("eval.seed", values.at("seed"));
  return values;
}

ConfigValues DefaultValues(const std::vector<ConfigValues>& configs) {
  RunConfig config;
  const std::string tasks = kTasks;
  for (const ConfigValues& values : configs) {
    for (auto at = values.lower_bound(tasks); at != values.end() && at->first.starts_with(tasks); ++at)
      config.tasks[at->first.substr(tasks.size(), at->first.find('.', tasks.size()) - tasks.size())] = {};
  }
  return ConfigValuesOf(ToJson(config));
}

std::string ValueOf(const ConfigValues& values, const std::string& key, const ConfigValues& defaults) {
  if (const auto found = values.find(key); found != values.end()) return found->second;
  const auto found = defaults.find(key);
  return found == defaults.end() ? "not given" : found->second;
}

std::string PlainText(const std::string& json) {
  return json.starts_with('"') ? nlohmann::json::parse(json).get<std::string>() : json;
}

std::vector<std::string> DifferingKeys(const std::vector<ConfigValues>& configs) {
  const ConfigValues defaults = DefaultValues(configs);
  std::set<std::string> keys;
  for (const ConfigValues& values : configs) {
    for (const auto& [key, value] : values) keys.insert(key);
  }
  std::vector<std::string> differing;
  for (const std::string& key : keys) {
    const bool differs = std::ranges::any_of(configs, [&](const ConfigValues& values) {
      return ValueOf(values, key, defaults) != ValueOf(configs.front(), key, defaults);
    });
    if (differs) differing.push_back(key);
  }
  return differing;
}

std::vector<std::string> ConfigDifferences(const ordered_json& before, const ordered_json& now,
                                           std::vector<std::string>* keys) {
  const std::vector<ConfigValues> both = {ConfigValuesOf(before), ConfigValuesOf(now)};
  const ConfigValues defaults = DefaultValues(both);
  std::vector<std::string> differences;
  for (const std::string& key : DifferingKeys(both)) {
    if (key == "weights") continue;  // whose changes the weight log knows
    differences.push_back(key + ": " + ValueOf(both[0], key, defaults) + " -> " +
                          ValueOf(both[1], key, defaults));
    if (keys != nullptr) keys->push_back(key);
  }
  return differences;
}

}  // namespace medley
