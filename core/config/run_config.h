#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <medley/config/config_file.h>
#include <medley/config/field.h>
#include <medley/config/lora_config.h>
#include <medley/config/optimizer_config.h>
#include <medley/config/phases_config.h>
#include <medley/config/references_config.h>
#include <medley/config/task_config.h>

namespace medley {

// A new key is its member, with its default, and its line in the list below the structs: the JSON Schema, the
// reader and the dump come from there. Paths are absolute after reading: in the file they are relative to it.

struct EvalConfig {
  std::int64_t every = 0;   // steps; 0: only when asked
  std::int64_t rows = 256;  // at most; of finite data each held-out item once
  std::int64_t seed = 0;    // of evaluated rows
  bool at_start = false;    // also before the first step
};

struct CheckpointConfig {
  std::int64_t every = 500;  // steps; 0: only at the end
  std::int64_t keep = 2;     // the newest ones; the best is kept beside them
};

struct DataConfig {
  // 0: rows are sampled by the trainer's thread, when they are needed
  std::int64_t threads = 1;
  std::int64_t ahead = 4;  // draws
  bool processes = false;  // of tasks in Python
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
  std::string chat;  // how conversations become text, a name or a file; "": plain, where a task does not say
  std::vector<std::string> allow_missing;     // patterns of parameters that published weights may lack
  std::vector<std::string> allow_unexpected;  // patterns of tensors that they may have beside
  std::int64_t allow_new_rows = 0;            // how many tokens may be new to them, beside medley's own
  bool allow_unknown_vocabulary = false;      // nothing tells whether they know its tokens
  LoraConfig lora;
  std::string dtype = "fp32";              // or "bf16", "fp16": of weights and activations
  bool deterministic = false;              // on a GPU; the CPU always is
  std::string matmul_precision = "float";  // or "tf32", on a GPU
  std::int64_t threads = 0;                // 0: DefaultThreads()
  std::int64_t seed = 0;
  std::int64_t steps = 1000;
  double hours = 0;      // within which a run ends, decayed early where it must; 0: no limit
  bool plan = true;      // measure what tasks take before the first step, and choose modes and rows by it
  std::string budget;    // as ParseBudget reads it
  double balance = 0.9;  // of the usual rows, to which open rows are brought; 0: to none
  std::int64_t draws_per_step = 1;
  std::int64_t peer_timeout = 600;     // seconds that a process of the run waits for the others
  std::int64_t start_timeout = 600;    // seconds that it looks for them before
  std::string on_task_error = "stop";  // or "drop"
  // A program that hears of the run's events, and its arguments; none: nobody does. A path is absolute.
  std::vector<std::string> on_event;
  DataConfig data;
  InitFrom init_from;
  bool tensorboard = false;  // write events for TensorBoard too
  EvalConfig eval;
  CheckpointConfig checkpoint;
  OptimizerConfig optimizer;
  std::optional<PhasesConfig> phases{};  // nothing: no weights are predicted
  ReferencesConfig references;           // by name, beside "start"
  std::map<std::string, TaskConfig> tasks;
};

template <typename Visitor>
void Fields(Visitor& visit, EvalConfig& c) {
  visit(c.every, {.name = "every", .help = "Steps between two evaluations; 0: only when asked", .low = 0});
  visit(c.rows, {.name = "rows",
                 .help = "Rows a task; of finite data each held-out item once at most",
                 .low = 1,
                 .high = 1 << 20});
  visit(c.seed, {.name = "seed",
                 .help = "Of the evaluated rows, whatever the run's own seed: runs with one eval.seed are "
                         "scored on the same rows",
                 .low = 0,
                 .fixed = true});
  visit(c.at_start, {.name = "at_start",
                     .help = "Also before the first step: the model as it begins",
                     .omit_default = true});
}

template <typename Visitor>
void Fields(Visitor& visit, CheckpointConfig& c) {
  visit(c.every, {.name = "every", .help = "Steps between two checkpoints; 0: only at the end", .low = 0});
  visit(c.keep, {.name = "keep",
                 .help = "How many of the newest are kept, beside the best and the one behind which the "
                         "learning rate falls",
                 .low = 1,
                 .high = 1000});
}

template <typename Visitor>
void Fields(Visitor& visit, DataConfig& c) {
  visit(c.threads, {.name = "threads",
                    .help = "Threads that sample rows ahead; 0: the trainer samples them when it needs them. "
                            "Changes no loss. Not given: 1, on a GPU 4",
                    .low = 0,
                    .high = 256});
  visit(c.ahead,
        {.name = "ahead",
         .help = "How many draws after those of this step may be sampled ahead, and then wait in memory. Not "
                 "given: 4, on a GPU 16",
         .low = 1,
         .high = 1024});
  visit(c.processes, {.name = "processes",
                      .help = "Rows of tasks in Python are made in processes, one a data thread, as threads "
                              "share Python's lock. Changes no loss",
                      .omit_default = true});
}

template <typename Visitor>
void Fields(Visitor& visit, InitFrom& c) {
  visit(c.run,
        {.name = "run",
         .help = "The directory of the run whose newest parameters are taken, or of one of its checkpoints",
         .required = true,
         .path = PathKind::kLater});
  visit(c.match, {.name = "match", .help = "Names of the parameters to take, with * and ?"});
}

template <typename Visitor>
void Fields(Visitor& visit, RunConfig& c) {
  visit(c.model, {.name = "model", .help = "The model's config", .required = true});
  visit(c.tokenizer,
        {.name = "tokenizer", .help = "The vocabulary; for a model that needs one", .omit_default = true});
  visit(c.special_tokens,
        {.name = "special_tokens",
         .help =
             "What medley's special tokens are called in a tokenizer.json. Not given: medley's own name, or "
             "that of Qwen or Llama 3; what the vocabulary lacks gets the next free id",
         .omit_default = true});
  visit(c.chat,
        {.name = "chat",
         .help = "The chat format: what stands around the words of conversations, for tasks whose option "
                 "chat is not given: one by its name, or a NAME.json of its strings, as tools/chat-format "
                 "writes it of a folder of published weights. Not given: plain, which any vocabulary can "
                 "write",
         .omit_default = true,
         .allowed = {"plain", "chatml", "qwen3", "llama3", "gemma"},
         .or_file = true});
  visit(c.weights, {.name = "weights", .help = "The weights file: the mixture of tasks", .required = true});
  visit(c.control_text, {.name = "control_text",
                         .help = "A text file with one item a line; for a model that needs one",
                         .omit_default = true});
  visit(c.plugin_path, {.name = "plugin_path",
                        .help = "Plugins, or directories with plugins, searched first",
                        .path = PathKind::kEither});
  visit(c.plugin_lock, {.name = "plugin_lock",
                        .help = "A file of medley plugins lock: plugins that differ are refused",
                        .omit_default = true,
                        .path = PathKind::kLater});
  visit(c.device, {.name = "device", .help = "Where the model lives", .allowed = {"cpu", "cuda"}});
  visit(c.dtype,
        {.name = "dtype",
         .help = "Of parameters and activations: fp32, or bf16, half as large and faster where the "
                 "machine multiplies it, or fp16, for GPUs that have no bf16; training then keeps fp32 "
                 "masters of what it trains, and sums, norms and losses are in fp32 too",
         .allowed = {"fp32", "bf16", "fp16"}});
  visit(c.deterministic,
        {.name = "deterministic",
         .help = "On a GPU, the same bits at every run of the same plan, for some speed; the "
                 "CPU always computes so"});
  visit(
      c.matmul_precision,
      {.name = "matmul_precision",
       .help = "On a GPU, of products of float matrices: float, or tf32, faster and with 10 bits of mantissa",
       .allowed = {"float", "tf32"}});
  visit(c.threads, {.name = "threads",
                    .help = "Threads of an operation; 0: OMP_NUM_THREADS, else one a core",
                    .low = 0,
                    .high = 4096});
  visit(c.seed, {.name = "seed",
                 .help = "Of parameters, rows and everything else that is drawn",
                 .low = 0,
                 .fixed = true});
  visit(c.steps, {.name = "steps",
                  .help = "Optimizer steps; the learning rate's schedule is a function of it",
                  .low = 1,
                  .below = "to score the model as it begins: medley eval CONFIG --out DIR, or eval.at_start "
                           "true, which train does before its first step"});
  visit(c.hours, {.name = "hours",
                  .help = "How long the run may take; a resume counts anew. Where the steps take longer, the "
                          "learning rate's decay begins early, so that the run ends decayed and in time; "
                          "where they become slower in the decay, that is shortened. With decay_fraction 0 "
                          "or 1, or one_cycle, the run stops, saved. 0: no limit",
                  .low = 0,
                  .high = 1e6});
  visit(c.plan, {.name = "plan",
                 .help = "Measure what tasks take before the first step, and choose modes and micro-batches "
                         "that fit the budget"});
  visit(c.budget, {.name = "budget",
                   .help = "Memory that training may use on its device: bytes (\"6GiB\"), or a fraction of "
                           "what the device has (0.5, \"50%\"). Not given: what is free",
                   .omit_default = true,
                   .or_number = true});
  visit(c.balance,
        {.name = "balance",
         .help = "Tasks with rows \"auto\" that would have less than this part of the rows of one forward "
                 "that such "
                 "tasks mostly have get as many as these, in another mode, with recomputation or in "
                 "micro-batches; 0: each has what fits in the fewest forwards",
         .low = 0,
         .high = 1});
  visit(c.draws_per_step, {.name = "draws_per_step",
                           .help = "Draws whose gradients add up to one step",
                           .low = 1,
                           .high = 1 << 16,
                           .fixed = true});
  visit(c.peer_timeout, {.name = "peer_timeout",
                         .help = "Where several processes train the run: seconds that one waits for the "
                                 "others, longer than the longest step, evaluation or save",
                         .omit_default = true,
                         .low = 1,
                         .high = 1 << 20});
  visit(c.start_timeout, {.name = "start_timeout",
                          .help = "Where several processes train the run: seconds within which all have to "
                                  "be there when it begins or goes on",
                          .omit_default = true,
                          .low = 1,
                          .high = 1 << 20});
  visit(c.on_task_error, {.name = "on_task_error",
                          .help = "A task that fails ends the run, saved, or is dropped",
                          .allowed = {"stop", "drop"}});
  visit(c.on_event,
        {.name = "on_event",
         .help = "A program and its arguments, by no shell, which gets an event of the run as JSON on its "
                 "standard input: a stage begins, a checkpoint is saved, the run ends, fails or stalls. A "
                 "name that PATH has, or a path, with a '/'",
         .omit_default = true});
  visit(c.data, {.name = "data", .help = "Sampling ahead of the training"});
  visit(c.init_from, {.name = "init_from",
                      .help = "Another run's parameters to start from",
                      .omit_default = true,
                      .fixed = true});
  visit(c.allow_missing,
        {.name = "allow_missing",
         .help = "Parameters, with * and ?, that the weights of a pretrained model may lack; they begin anew",
         .omit_default = true});
  visit(c.allow_unexpected,
        {.name = "allow_unexpected",
         .help =
             "Tensors, with * and ?, that the weights of a pretrained model may have and the model has not; "
             "they are left aside",
         .omit_default = true});
  visit(
      c.allow_new_rows,
      {.name = "allow_new_rows",
       .help = "How many tokens of the vocabulary a pretrained model may not know, beside those that medley "
               "adds: its token table has no row for them, or one that its own tokenizer.json gives to "
               "another token",
       .omit_default = true,
       .low = 0,
       .high = 1 << 24});
  visit(c.allow_unknown_vocabulary,
        {.name = "allow_unknown_vocabulary",
         .help = "The weights of a pretrained model may come without a tokenizer that medley can compare the "
                 "vocabulary with: whoever sets it knows that they were trained with it",
         .omit_default = true});
  visit(c.lora, {.name = "lora",
                 .help = "Low-rank adapters of the language, which is frozen beside them; no adapters "
                         "where it is not given",
                 .omit_default = true});
  visit(c.tensorboard,
        {.name = "tensorboard",
         .help = "Also write losses, shares, memory, speed, scores and sheets for TensorBoard, into "
                 "tensorboard/ of the run's directory"});
  visit(c.eval, {.name = "eval", .help = "Scores: during the run, and of medley eval"});
  visit(c.checkpoint, {.name = "checkpoint", .help = "When to save"});
  visit(c.optimizer, {.name = "optimizer", .help = "How parameters are updated, and the schedule"});
  visit(c.phases,
        {.name = "phases",
         .help = "Predict parameters between steps, and jump where that gains more than the steps that "
                 "its cost would buy. Needs optimizer.average"});
  visit(c.references,
        {.name = "references",
         .help = "Further weights, by the name under which passes of tasks ask them; \"start\", "
                 "as training found them, is there without",
         .omit_default = true,
         .fixed = true});
  visit(c.tasks, {.name = "tasks", .help = "Settings by task; tasks that are not named get the defaults"});
}

// What a stage makes of a task's settings.
TaskConfig Changed(TaskConfig config, const TaskChange& change);

// Reads a run config; `overrides` are "key.path=value" with the value in JSON or as a bare word. Throws an
// InputError that lists every mistake as file:line:column: path: what is wrong, with the allowed values and a
// suggestion.
RunConfig ReadRunConfig(const std::filesystem::path& file, const std::vector<std::string>& overrides = {});
// The same of a config that a run wrote: its files may lie elsewhere now.
RunConfig ReadWrittenConfig(const std::filesystem::path& file,
                            const std::vector<std::string>& overrides = {});
// Reports every mistake to the file's diagnostics.
void ReadConfig(ConfigFile& file, RunConfig& config);
// Reports settings without effect, of a run that begins: older medleys accepted them.
void CheckEffects(ConfigFile& file, const RunConfig& config);
// What settings of a task's execution contradict, with the key: {"micro_rows", "expected at most ..."}.
struct TaskProblem {
  std::string key, message;
};
std::optional<TaskProblem> CheckTaskConfig(const TaskConfig& task, bool plan);
// The config with every default filled in, as saved with a run. Reading it again gives the same.
nlohmann::ordered_json ToJson(const RunConfig& config);
// The keys that a run which was trained on these tasks cannot change, nor those below them: "seed",
// "init_from", "tasks.zoom.rows".
std::vector<std::string> FixedKeys(const std::set<std::string>& trained);
nlohmann::ordered_json ToJson(const TaskConfig& settings);
nlohmann::ordered_json RunConfigSchema();

}  // namespace medley
