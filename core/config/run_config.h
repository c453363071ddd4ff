#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <medley/config/config_file.h>
#include <medley/config/lora_config.h>
#include <medley/config/option_value.h>

namespace medley {

// Each field is listed once more in run_config.cc, with its default, bounds and help text; the JSON Schema
// and the reader come from there. Paths are absolute after reading: in the file they are relative to it.

struct TaskConfig {
  std::int64_t rows = 16;  // effective rows of a draw; 0: "auto", as many as fill the budget
  // Not given: the planner's choice. Without a plan: all rows; sequential, joint where something is carried;
  // none.
  std::int64_t micro_rows = 0;        // rows of one forward; 0: not given
  std::string mode;                   // a ModeName; "": not given
  std::int64_t recompute_every = -1;  // activation checkpointing: 0 none, k every k-th layer; < 0: not given
  std::string variant = "default";
  OptionValues options;                              // paths are absolute once the spec was asked (CheckTask)
  std::map<std::string, double, std::less<>> terms;  // weights of loss terms
};

// What a stage changes of a task's settings; what it does not name stays.
struct TaskChange {
  std::optional<std::int64_t> rows, micro_rows;
  std::optional<std::string> mode;
  std::optional<std::int64_t> recompute_every;
  OptionValues options;
  std::map<std::string, double, std::less<>> terms;
};
// Written with dotted keys, "tasks.NAME.rows".
struct TaskChanges {
  std::map<std::string, TaskChange> tasks;
};
// Lists the fields to a FieldReader, FieldDumper or SchemaWriter.
template <typename Visitor>
void Fields(Visitor& visit, TaskChanges& changes);
TaskConfig Changed(TaskConfig config, const TaskChange& change);

// Settings of the parameters whose name matches the pattern (shell-style, * and ?); the first that matches
// wins.
struct ParameterGroup {
  std::string match;
  double learning_rate_scale = 1;
  double weight_decay = -1;  // < 0: the optimizer's
  bool frozen = false;
};

struct OptimizerConfig {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0.01;
  double clip_norm = 1.0;        // 0: no clipping
  std::string schedule = "wsd";  // or "one_cycle"
  // Settings of "one_cycle":
  double rise_fraction = 0.3;  // of the steps
  // Settings of "wsd":
  std::int64_t warmup_steps = 100;
  double decay_fraction = 0.3;  // of the steps, at the end; linear to final_scale
  double final_scale = 0.0;
  std::vector<ParameterGroup> groups;
};

struct EvalConfig {
  std::int64_t every = 0;   // steps; 0: only when asked
  std::int64_t rows = 256;  // at most; of finite data each held-out item once
};

struct CheckpointConfig {
  std::int64_t every = 500;  // steps; 0: only at the end
  std::int64_t keep = 2;     // the newest ones; the best is kept beside them
};

struct DataConfig {
  // 0: rows are sampled by the trainer's thread, when they are needed
  std::int64_t threads = 1;
  std::int64_t ahead = 4;  // draws
};
// What a config gets that does not say: a GPU's steps are over before one thread has sampled the next rows.
inline constexpr DataConfig kDataForGpu = {.threads = 4, .ahead = 16};

struct InitFrom {
  std::filesystem::path run;               // "": none
  std::vector<std::string> match = {"*"};  // names of the parameters to take
};

struct RunConfig {
  std::filesystem::path model;
  std::filesystem::path tokenizer;  // "" where the model needs none
  std::filesystem::path weights;
  std::filesystem::path control_text;  // likewise
  std::vector<std::filesystem::path> plugin_path;
  std::filesystem::path plugin_lock;  // "": any plugins
  std::string device = "cpu";         // "cpu" or "cuda"
  // Names of special tokens in the vocabulary, by medley's; those that are not here have defaults.
  std::map<std::string, std::string, std::less<>> special_tokens;
  std::vector<std::string> allow_missing;  // patterns of parameters that published weights may lack
  std::int64_t allow_new_rows = 0;         // how many tokens may be new to them, beside medley's own
  LoraConfig lora;
  std::string dtype = "fp32";              // or "bf16": of weights and activations
  bool deterministic = false;              // on a GPU; the CPU always is
  std::string matmul_precision = "float";  // or "tf32", on a GPU
  std::int64_t threads = 0;                // 0: DefaultThreads()
  std::int64_t seed = 0;
  std::int64_t steps = 1000;
  double hours = 0;    // within which a run ends, decayed early where it must; 0: no limit
  bool plan = true;    // measure what tasks take before the first step, and choose modes and rows by it
  std::string budget;  // as ParseBudget reads it
  std::int64_t draws_per_step = 1;
  std::string on_task_error = "stop";  // or "drop"
  DataConfig data;
  InitFrom init_from;
  bool tensorboard = false;  // write events for TensorBoard too
  EvalConfig eval;
  CheckpointConfig checkpoint;
  OptimizerConfig optimizer;
  std::map<std::string, TaskConfig> tasks;
  // Settings that stages give to tasks, by form. They come from the weights file, and are not dumped.
  std::map<std::string, TaskConfig> forms;
};

// Reads a run config; `overrides` are "key.path=value" with the value in JSON or as a bare word. Throws an
// InputError that lists every mistake as file:line:column: path: what is wrong, with the allowed values and a
// suggestion.
RunConfig ReadRunConfig(const std::filesystem::path& file, const std::vector<std::string>& overrides = {});
// Reports every mistake to the file's diagnostics.
void ReadConfig(ConfigFile& file, RunConfig& config);
// Reports settings without effect, of a run that begins: older medleys accepted them.
void CheckEffects(ConfigFile& file, const RunConfig& config);
// A task's settings, or those of one of its forms; the defaults where the config does not name it.
const TaskConfig& ConfigOf(const RunConfig& config, const std::string& form);

// A form of a task is how one set of settings makes it: its name is the task's where they are the config's,
// else the task's, "@" and a hash of the settings.
std::string FormOf(const RunConfig& config, const TaskChanges& changes, const std::string& task);
std::string_view TaskOfForm(std::string_view form);
// The key below which its settings are changed: "tasks.zoom.", or "stage set tasks.zoom." where a stage makes
// them.
std::string KeyOfForm(const std::string& form);
// What rows and micro_rows of a task contradict, with the key: {"micro_rows", "expected at most ..."}.
struct RowsProblem {
  std::string key, message;
};
std::optional<RowsProblem> CheckRows(const TaskConfig& task, bool plan);
// The config with every default filled in, as saved with a run. Reading it again gives the same.
nlohmann::ordered_json ToJson(const RunConfig& config);
// The keys that a run which was trained on these tasks cannot change, nor those below them: "seed",
// "init_from", "tasks.zoom.rows".
std::vector<std::string> FixedKeys(const std::set<std::string>& trained);
nlohmann::ordered_json RunConfigSchema();

}  // namespace medley
