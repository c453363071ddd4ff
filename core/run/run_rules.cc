#include <medley/run/run_rules.h>

#include <algorithm>
#include <map>
#include <optional>
#include <system_error>
#include <utility>
#include <variant>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/checkpoint/checkpoint_files.h>
#include <medley/checkpoint/run_directory.h>
#include <medley/curriculum/weight_log.h>
#include <medley/run/input_record.h>
#include <medley/run/rules_record.h>

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

// Of each number that is an option, what the task is given.
std::map<std::string, double, std::less<>> NumbersOf(const TaskInfo& task, const TaskConfig& settings) {
  std::map<std::string, double, std::less<>> numbers;
  for (const OptionInfo& option : task.options) {
    OptionValue value = option.Default();
    if (const auto given = settings.options.find(option.name); given != settings.options.end())
      value = given->second;
    if (const double* number = std::get_if<double>(&value)) numbers[option.name] = *number;
  }
  return numbers;
}

// Whether the files that options of a task name have the sums that the record has.
bool HasSameFiles(const std::string& task, const ordered_json& before, const ordered_json& now) {
  const std::string options = "tasks." + task + ".options.";
  bool any = false;
  for (const auto& [key, value] : now.items()) {
    if (!key.starts_with(options)) continue;
    any = true;
    if (!before.contains(key)) return false;
  }
  for (const InputChange& input : CompareInputs(before, now)) {
    if (input.name.starts_with(options) && input.any()) return false;
  }
  return any;
}

// Whether they became others while the run was trained (resume --allow-changed).
bool ChangedItsFiles(const std::string& task, const WeightLog& log) {
  return std::ranges::any_of(log.entries(), [&](const WeightEntry& entry) {
    return entry.cause == WeightEntry::Cause::kChangedFile &&
           entry.name.starts_with("tasks." + task + ".options.");
  });
}

// Nothing of a directory that is no run: where its weights are taken, that is said.
std::optional<EarlierItems> EarlierItemsOf(fs::path run, const RunConfig& now, const Registry& registry) {
  if (StepOfName(run.filename().string()) >= 0) run = run.parent_path();
  std::error_code ignored;
  if (!fs::exists(run / "config.resolved.json", ignored)) return std::nullopt;
  const ordered_json record = ReadRunRecord(run);
  EarlierItems items{.run = DisplayPath(run), .rules = RulesIn(record), .tasks = {}};
  const ordered_json before =
      record.is_object() ? record.value("inputs", ordered_json::object()) : ordered_json::object();
  const ordered_json inputs = InputRecord(now, registry);
  const RunConfig config = ReadWrittenConfig(NewestConfig(run));
  const WeightLog log(run);
  for (const auto& [name, settings] : config.tasks) {
    const TaskInfo* task = registry.Find(name);
    if (task == nullptr) continue;
    items.tasks[name] = {.options = NumbersOf(*task, settings),
                         .has_same_files = HasSameFiles(name, before, inputs) && !ChangedItsFiles(name, log)};
  }
  return items;
}

}  // namespace

DataRules RulesOfNewRun(const RunConfig& config, const Registry& registry) {
  DataRules rules;
  if (config.init_from.run.empty()) return rules;
  if (auto from = EarlierItemsOf(config.init_from.run, config, registry)) rules.TakeOver(*std::move(from));
  return rules;
}

// Its first config may be lost.
bool BeganWithRules(const fs::path& directory, const fs::path& config) try {
  return SaysEvalSeed(ReadResolved(directory / "config.resolved.json"));
} catch (const Error&) {
  return SaysEvalSeed(ReadResolved(config));
}

// A run whose record was damaged or moved away has one no more; the config that it began with tells that from
// one that never had it.
DataRules RulesOfRun(const fs::path& directory, const fs::path& config, const RunInputs& inputs) {
  const ordered_json record = ReadRunRecord(directory);
  if (record.contains(kDataRules) || !BeganWithRules(directory, config)) return RulesIn(record);
  return RulesOfNewRun(inputs.checked.run, inputs.registry);
}

std::vector<std::string> WithEarlierDefaults(const fs::path& config, std::vector<std::string> overrides) {
  const ordered_json resolved = ReadResolved(config);
  if (!SaysEvalSeed(resolved))
    overrides.insert(overrides.begin(), "eval.seed=" + EvalSeedIn(resolved).dump());
  if (!resolved.contains("balance")) overrides.insert(overrides.begin(), "balance=0");
  return overrides;
}

void RecordRules(const fs::path& run, DataRules& rules) {
  if (!rules.is_changed()) return;
  ordered_json record = ReadRunRecord(run);
  if (!record.is_object()) return;  // somebody moved it away
  record[kDataRules] = rules.Json();
  ReplaceRunRecord(run, record);
  rules.Kept();
}

}  // namespace medley
