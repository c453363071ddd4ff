#include <medley/run/config_change.h>

#include <algorithm>
#include <utility>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/file_digest.h>
#include <medley/base/json_count.h>
#include <medley/base/json_reader.h>
#include <medley/base/json_text.h>
#include <medley/base/printable.h>
#include <medley/checkpoint/checkpoint.h>
#include <medley/config/config_values.h>
#include <medley/config/run_config.h>

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::int64_t kLargestConfig = 4 << 20;

// Of a config that may be damaged: null where there is no such member.
const ordered_json& MemberOf(const ordered_json& json, const char* key) {
  static const ordered_json none;
  const auto found = json.is_object() ? json.find(key) : json.end();
  return found == json.end() ? none : *found;
}

bool HasAverage(const ordered_json& optimizer) {
  const ordered_json& average = MemberOf(optimizer, "average");
  return average.is_number() && average.get<double>() > 0;
}

// The keys that decide, as they differ, which tensors a run keeps beside its weights: a checkpoint has
// others.
std::vector<std::string> KeysOfKept(const ordered_json& before, const ordered_json& now) {
  const ordered_json &was = MemberOf(before, "optimizer"), &is = MemberOf(now, "optimizer");
  std::vector<std::string> keys;
  if (HasAverage(was) != HasAverage(is)) keys.emplace_back("optimizer.average");
  if (MemberOf(was, "trend").is_null() != MemberOf(is, "trend").is_null())
    keys.emplace_back("optimizer.trend");
  if (MemberOf(before, "phases").is_null() != MemberOf(now, "phases").is_null()) keys.emplace_back("phases");
  return keys;
}

bool IsAmong(const std::vector<std::string>& keys, const std::string& key) {
  return std::ranges::any_of(
      keys, [&](const std::string& fixed) { return key == fixed || key.starts_with(fixed + "."); });
}

}  // namespace

ordered_json TrainedConfig(const fs::path& run, const CheckpointFacts& facts) {
  if (facts.config.is_object()) return facts.config;
  for (const fs::path& path : ListDirectory(run)) {
    if (!path.filename().string().starts_with("config.resolved.")) continue;
    try {
      const ordered_json config = ReadJson(ReadSmallFile(path, kLargestConfig), path.string());
      if (HashText(JsonText(config)) == facts.config_hash) return config;
    } catch (const InputError&) {  // not the one that is looked for
    }
  }
  return nullptr;
}

std::set<std::string> TrainedTasks(const fs::path& checkpoint) {
  try {
    std::set<std::string> names;
    const nlohmann::json mixer = ReadSection(checkpoint, "mixer");
    for (const auto& task : mixer.at("tasks")) {
      if (CountOf(task, "draws", 0, INT64_MAX) > 0) names.insert(task.at("name").get<std::string>());
    }
    return names;
  } catch (const nlohmann::json::exception& error) {
    throw InputError(Printable(checkpoint) + " does not say which tasks were trained: " + error.what());
  } catch (const std::out_of_range& error) {
    throw InputError(Printable(checkpoint) + " does not say which tasks were trained: " + error.what());
  }
}

std::vector<std::string> CompareConfigs(const ordered_json& before, const ordered_json& now,
                                        const std::set<std::string>& trained) {
  std::vector<std::string> keys;
  std::vector<std::string> changes = ConfigDifferences(before, now, &keys);
  std::vector<std::string> fixed = FixedKeys(trained);
  for (std::string& key : KeysOfKept(before, now)) fixed.push_back(std::move(key));
  std::string refused;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (IsAmong(fixed, keys[i])) refused += (refused.empty() ? "" : ", ") + changes[i];
  }
  if (refused.empty()) return changes;
  throw InputError(
      "a run that was trained cannot change " + refused +
      ". Put it back, or start a new run with its parameters: medley train CONFIG init_from.run=DIR");
}

}  // namespace medley
