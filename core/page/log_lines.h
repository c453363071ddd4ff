#pragma once

#include <cmath>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

namespace medley {

// A value at a path of keys; null where there is none.
template <typename... Keys>
const nlohmann::json& At(const nlohmann::json& value, const Keys&... keys) {
  static const nlohmann::json kNothing = nullptr;
  const nlohmann::json* at = &value;
  for (const char* key : {keys...}) {
    if (!at->is_object()) return kNothing;
    const auto found = at->find(key);
    if (found == at->end()) return kNothing;
    at = &*found;
  }
  return *at;
}
// An empty list where there is none.
const nlohmann::json& ListAt(const nlohmann::json& value, const char* key);
// NaN where there is none.
double NumberAt(const nlohmann::json& value, const char* key);

// Each whole line of a log that has a step; the last one may still be written, and a log may be missing. An
// InputError for a line that is no object.
void ForEachLine(const std::filesystem::path& file, const std::function<void(const nlohmann::json&)>& take);

}  // namespace medley
