#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace medley {

// A resolved config's values as JSON, by the path of their keys: {"optimizer.learning_rate", "0.001"}.
using ConfigValues = std::map<std::string, std::string>;
ConfigValues ConfigValuesOf(const nlohmann::ordered_json& config);
// Of a config that names the same tasks as all of these, and nothing else.
ConfigValues DefaultValues(const std::vector<ConfigValues>& configs);
// What stands there, else the default, else "not given".
std::string ValueOf(const ConfigValues& values, const std::string& key, const ConfigValues& defaults);
// JSON, but a text as it is, without its quotes.
std::string PlainText(const std::string& json);
// The keys that have not one value in all of them. One that a config lacks has its default there.
std::vector<std::string> DifferingKeys(const std::vector<ConfigValues>& configs);

// Words for every key that differs, "optimizer.learning_rate: 0.001 -> 0.0001", and if asked for the keys. A
// key that one of the two lacks has its default there. Not the weights file, which has a log of its own.
std::vector<std::string> ConfigDifferences(const nlohmann::ordered_json& before,
                                           const nlohmann::ordered_json& now,
                                           std::vector<std::string>* keys = nullptr);

}  // namespace medley
