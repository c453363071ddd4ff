#include <medley/config/run_config.h>

#include <algorithm>

#include <medley/base/error.h>
#include <medley/base/full_match.h>
#include <medley/config/budget_request.h>
#include <medley/config/field_reader.h>
#include <medley/config/field_writer.h>

namespace medley {
namespace {

void FillInByDevice(const ConfigFile& file, RunConfig& config) {
  if (!file.root() || config.device == "cpu") return;
  const JsonNode* data = file.root()->Find("data");
  const auto is_given = [&](const char* key) { return data != nullptr && data->Find(key) != nullptr; };
  if (!is_given("threads")) config.data.threads = kDataForGpu.threads;
  if (!is_given("ahead")) config.data.ahead = kDataForGpu.ahead;
}

// What the other schedule has. A saved config names all keys.
void CheckSchedule(ConfigFile& file, const OptimizerConfig& config) {
  const OptimizerConfig defaults;
  const auto check = [&](const char* key, bool is_default, const char* schedule) {
    if (!is_default && config.schedule != schedule)
      file.FailAtKey({"optimizer", key}, "is the schedule " + std::string(schedule) + "'s, and this one is " +
                                             config.schedule + "; leave it out");
  };
  check("warmup_steps", config.warmup_steps == defaults.warmup_steps, "wsd");
  check("decay_fraction", config.decay_fraction == defaults.decay_fraction, "wsd");
  check("final_scale", config.final_scale == defaults.final_scale, "wsd");
  check("rise_fraction", config.rise_fraction == defaults.rise_fraction, "one_cycle");
}

bool HasMomentum(const OptimizerConfig& config) {
  return config.name != RuleName::kAdamW ||
         std::ranges::any_of(config.groups, [](const ParameterGroup& group) {
           return group.rule.value_or(RuleName::kAdamW) != RuleName::kAdamW;
         });
}

void CheckRules(ConfigFile& file, const OptimizerConfig& config) {
  if (config.momentum != OptimizerConfig().momentum && !HasMomentum(config))
    file.FailAtKey({"optimizer", "momentum"},
                   "is Muon's and SGD's, and nothing has either here; leave it out");
  if (!config.trend) return;
  const char* const why = config.schedule == "one_cycle" ? "the rate of one_cycle always rises or falls"
                          : config.warmup_steps == 0 ? "warmup_steps is 0, so the first steps would set it"
                                                     : nullptr;
  if (why != nullptr)
    file.FailAtKey({"optimizer", "trend"}, std::string("needs a warm-up and a learning rate that stays: ") +
                                               why + ". Leave it out, or change the schedule");
}

void CheckLora(ConfigFile& file, const LoraConfig& config) {
  if (file.Find({"lora"}) == nullptr) return;
  if (config.rank == 0 && config.pretrained.empty() && file.Find({"lora", "rank"}) == nullptr)
    file.FailAtKey({"lora", "rank"},
                   "missing; give the rank of the adapters, or \"pretrained\", a folder of PEFT's");
  try {
    if (!config.targets.pattern.empty()) FullMatch(config.targets.pattern);
  } catch (const InputError& error) {
    file.FailAt({"lora", "targets"}, error.what());
  }
}

// What is given neither here nor by the adapters that the run begins with.
void FillInLora(LoraConfig& config) {
  if (config.rank == 0 || !config.pretrained.empty()) return;
  if (config.alpha == 0) config.alpha = kLoraAlpha;
  if (config.targets.empty()) config.targets.names.assign(kLoraTargets.begin(), kLoraTargets.end());
}

// What phases predict with.
void FillInPhases(RunConfig& config) {
  config.optimizer.keeps_line = config.phases.has_value();
  config.optimizer.keeps_last_step =
      config.phases && (config.lora.rank > 0 || !config.lora.pretrained.empty());
}

void CheckPhases(ConfigFile& file, const RunConfig& config) {
  if (config.phases && config.optimizer.average <= 0)
    file.FailAtKey(
        {"phases"},
        "needs an average of the parameters, from which it predicts: give optimizer.average, such as "
        "0.99, or leave phases out");
}

// The program's path; a name without a '/' is looked for in PATH by who runs it.
void FindOnEvent(ConfigFile& file, RunConfig& config) {
  std::vector<std::string>& command = config.on_event;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const std::vector<std::string> path = {"on_event", std::to_string(i)};
    const JsonNode* node = file.Find(path);
    if (node == nullptr || !node->IsString()) continue;
    if (command[i].find('\0') != std::string::npos)
      file.FailAt(path, "has a zero byte, which no program can be given");
    else if (i == 0 && command[i].find('/') != std::string::npos)
      command[i] = file.Locate(*node).string();
  }
}

void CheckTogether(ConfigFile& file, const RunConfig& config) {
  try {
    ParseBudget(config.budget);
  } catch (const InputError& error) {
    file.FailAt({"budget"}, error.what());
  }
  CheckSchedule(file, config.optimizer);
  CheckRules(file, config.optimizer);
  CheckPhases(file, config);
  CheckLora(file, config.lora);
  for (const auto& [name, task] : config.tasks) {
    if (const auto problem = CheckTaskConfig(task, config.plan))
      file.FailAt({"tasks", name, problem->key}, problem->message);
  }
}

RunConfig ReadOverridden(const std::filesystem::path& path, const std::vector<std::string>& overrides,
                         bool leaves_paths) {
  Diagnostics diagnostics;
  ConfigFile file(path, diagnostics);
  if (leaves_paths) file.LeavePaths();
  file.Override(overrides);
  RunConfig config;
  ReadConfig(file, config);
  diagnostics.Throw();
  return config;
}

}  // namespace

void ReadConfig(ConfigFile& file, RunConfig& config) {
  ReadFields(file, config);
  FillInByDevice(file, config);
  FindOnEvent(file, config);
  CheckTogether(file, config);
  FillInLora(config.lora);
  FillInPhases(config);
}

void CheckEffects(ConfigFile& file, const RunConfig& config) {
  const std::vector<ParameterGroup>& groups = config.optimizer.groups;
  const ParameterGroup defaults;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (!groups[i].frozen) continue;
    const auto check = [&](const char* key, bool is_default) {
      if (!is_default)
        file.FailAtKey({"optimizer", "groups", std::to_string(i), key},
                       "acts on what is trained, and the group is frozen; leave it out");
    };
    check("learning_rate_scale", groups[i].learning_rate_scale == defaults.learning_rate_scale);
    check("weight_decay", groups[i].weight_decay == defaults.weight_decay);
    check("rule", groups[i].rule == defaults.rule);
  }
}

RunConfig ReadRunConfig(const std::filesystem::path& path, const std::vector<std::string>& overrides) {
  return ReadOverridden(path, overrides, /*leaves_paths=*/false);
}

RunConfig ReadWrittenConfig(const std::filesystem::path& path, const std::vector<std::string>& overrides) {
  return ReadOverridden(path, overrides, /*leaves_paths=*/true);
}

std::optional<TaskProblem> CheckTaskConfig(const TaskConfig& task, bool plan) {
  if (task.rows == 0 && task.micro_rows > 0)
    return TaskProblem{"micro_rows",
                       "with \"rows\": \"auto\" all rows of a draw run in one forward; leave it out"};
  if (task.rows == 0 && !plan)
    return TaskProblem{"rows", "\"auto\" needs the planner; set \"plan\": true, or give a number of rows"};
  if (task.micro_rows > task.rows)
    return TaskProblem{"micro_rows", "expected at most the draw's " + std::to_string(task.rows) +
                                         " rows, found " + std::to_string(task.micro_rows)};
  if (!task.recompute_layers.empty() && task.recompute_every >= 0)
    return TaskProblem{"recompute_every", "says the same as recompute_layers, which is \"" +
                                              task.recompute_layers + "\"; leave one of the two out"};
  return std::nullopt;
}

std::optional<RecomputedLayers> PinnedLayers(const TaskConfig& config) {
  if (!config.recompute_layers.empty()) return ParseRecomputedLayers(config.recompute_layers);
  if (config.recompute_every < 0) return std::nullopt;
  return RecomputedLayers(static_cast<int>(config.recompute_every));
}

TaskKinds KindsIn(const std::map<std::string, TaskConfig>& tasks) {
  TaskKinds kinds;
  for (const auto& [name, settings] : tasks) {
    if (!settings.kind.empty() && settings.kind != name) kinds[name] = settings.kind;
  }
  return kinds;
}

std::string RecomputeAll(const TaskConfig& config) {
  return config.recompute_layers.empty() ? "recompute_every=1" : "recompute_layers=1/1";
}

TaskConfig Changed(TaskConfig config, const TaskChange& change) {
  config.rows = change.rows.value_or(config.rows);
  config.micro_rows = change.micro_rows.value_or(config.micro_rows);
  config.mode = change.mode.value_or(config.mode);
  if (change.recompute_layers || change.recompute_every) {  // each takes the other's place
    config.recompute_layers = change.recompute_layers.value_or("");
    config.recompute_every = change.recompute_every.value_or(-1);
  }
  for (const auto& [option, value] : change.options) config.options[option] = value;
  for (const auto& [term, weight] : change.terms) config.terms[term] = weight;
  return config;
}

std::vector<std::string> FixedKeys(const std::set<std::string>& trained) {
  RunConfig config;
  for (const std::string& task : trained) config.tasks[task] = {};
  return FixedFields::Of(std::move(config));
}

nlohmann::ordered_json ToJson(const RunConfig& config) { return FieldDumper::Dump(config); }

nlohmann::ordered_json ToJson(const TaskConfig& settings) { return FieldDumper::Dump(settings); }

nlohmann::ordered_json RunConfigSchema() {
  return SchemaWriter::File<RunConfig>("medley run config",
                                       "What medley train reads. Paths are relative to the file.");
}

}  // namespace medley
