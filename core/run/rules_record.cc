#include <medley/run/rules_record.h>

#include <cstdint>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/json_reader.h>
#include <medley/checkpoint/run_directory.h>

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::int64_t kLargestResolved = 4 << 20;

const ordered_json* Member(const ordered_json& json, const char* key) {
  const auto found = json.is_object() ? json.find(key) : json.end();
  return found == json.end() ? nullptr : &*found;
}

}  // namespace

DataRules RulesIn(const ordered_json& record) {
  const ordered_json* rules = Member(record, kDataRules);
  return rules == nullptr ? DataRules::Earlier() : DataRules::Of(*rules);
}

ordered_json ReadResolved(const fs::path& config) {
  ordered_json json = ReadJson(ReadSmallFile(config, kLargestResolved), DisplayPath(config));
  if (!json.is_object()) throw InputError(DisplayPath(config) + " is damaged: a JSON object was expected");
  return json;
}

bool SaysEvalSeed(const ordered_json& config) {
  const ordered_json* eval = Member(config, "eval");
  return eval != nullptr && Member(*eval, "seed") != nullptr;
}

ordered_json EvalSeedIn(const ordered_json& config) {
  const ordered_json* seed =
      SaysEvalSeed(config) ? Member(config.at("eval"), "seed") : Member(config, "seed");
  return seed == nullptr ? ordered_json(0) : *seed;
}

std::vector<std::string> UnlikeRowsWords(const fs::path& run, const fs::path& other) {
  struct Side {
    ordered_json config;
    DataRules rules;
  };
  const auto read = [](const fs::path& directory) -> Side {
    return {ReadResolved(NewestConfig(directory)), RulesIn(ReadRunRecord(directory))};
  };
  const Side here = read(run), there = read(other);
  std::vector<std::string> words;
  const std::string which = DisplayPath(other) + " is scored on other rows than " + DisplayPath(run);
  const std::string seed = EvalSeedIn(here.config).dump(), its_seed = EvalSeedIn(there.config).dump();
  if (seed != its_seed) words.push_back(which + ": its eval.seed is " + its_seed + ", not " + seed);
  const ordered_json *tasks = Member(here.config, "tasks"), *its_tasks = Member(there.config, "tasks");
  if (tasks == nullptr || its_tasks == nullptr) return words;
  for (const auto& [task, settings] : tasks->items()) {
    if (!its_tasks->contains(task)) continue;
    if (here.rules.RowsHeldOut(task) == there.rules.RowsHeldOut(task)) continue;
    words.push_back(which + " in '" + task + "': it holds out other items (" +
                    there.rules.HeldOutWords(task) + ", not " + here.rules.HeldOutWords(task) + ")");
  }
  return words;
}

}  // namespace medley
