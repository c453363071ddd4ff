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

ScoredRows ScoredRowsOf(const fs::path& run) {
  return {ReadResolved(NewestConfig(run)), RulesIn(ReadRunRecord(run))};
}

RowsApart CompareRows(const ScoredRows& run, const ScoredRows& other) {
  RowsApart unlike;
  const std::string seed = EvalSeedIn(run.config).dump(), its_seed = EvalSeedIn(other.config).dump();
  if (seed != its_seed) {
    unlike.all = true;
    unlike.words.push_back(": its eval.seed is " + its_seed + ", not " + seed);
  }
  const ordered_json *tasks = Member(run.config, "tasks"), *its_tasks = Member(other.config, "tasks");
  if (tasks == nullptr || its_tasks == nullptr) return unlike;
  for (const auto& [task, settings] : tasks->items()) {
    if (!its_tasks->contains(task)) continue;
    if (run.rules.RowsHeldOut(task) == other.rules.RowsHeldOut(task)) continue;
    unlike.tasks.insert(task);
    unlike.words.push_back(" in '" + task + "': it holds out other items (" + other.rules.HeldOutWords(task) +
                           ", not " + run.rules.HeldOutWords(task) + ")");
  }
  return unlike;
}

std::vector<std::string> UnlikeRowsWords(const fs::path& run, const fs::path& other) {
  std::vector<std::string> words = CompareRows(ScoredRowsOf(run), ScoredRowsOf(other)).words;
  for (std::string& reason : words)
    reason = DisplayPath(other) + " is scored on other rows than " + DisplayPath(run) + reason;
  return words;
}

}  // namespace medley
