#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

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

// A line of a log of JSON lines, with the step that it is about.
struct LogLine {
  std::int64_t step = -1;  // < 0: it is no line of a step
  nlohmann::json json;
};
LogLine ReadLogLine(const std::string& line);

// No step takes a thousandth of it.
inline constexpr std::size_t kLongestLogLine = std::size_t{64} << 20;

// Each whole line of a log that has a step, and the text `having`: others are not even parsed. The last one
// may still be written, and a log may be missing. A line that is no object is an InputError, or passed over.
enum class DamagedLine { kRefused, kPassedOver };
void ForEachLine(const std::filesystem::path& log, DamagedLine damaged,
                 const std::function<void(const nlohmann::json&)>& take, std::string_view having = {});

// By task what a line of metrics.jsonl has as its loss; of terms that all had items. See TotalLosses.
std::map<std::string, double> LossesIn(const nlohmann::json& line);

}  // namespace medley
