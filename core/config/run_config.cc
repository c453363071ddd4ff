#include <medley/config/run_config.h>

#include <medley/base/error.h>
#include <medley/base/file_digest.h>
#include <medley/base/full_match.h>
#include <medley/config/budget_request.h>
#include <medley/config/field_reader.h>
#include <medley/config/field_writer.h>
#include <medley/config/mode.h>

namespace medley {

// Of a TaskConfig or a TaskChange.
template <typename Visitor, typename Settings>
void FieldsOfExecution(Visitor& visit, Settings& c) {
  visit(c.rows, {.name = "rows",
                 .help = "Rows of a draw of this task; \"auto\": as many as fill the budget",
                 .low = 1,
                 .high = 1 << 20,
                 .zero = "auto",
                 .fixed = true});
  visit(c.micro_rows,
        {.name = "micro_rows",
         .help = "Rows of one forward; the gradients add up to the same step. As many as \"rows\": all at "
                 "once. Not given or 0: the planner chooses, without a plan all at once",
         .low = 0,
         .high = 1 << 20});
  visit(c.mode, {.name = "mode",
                 .help = "How a draw is executed. Not given: the planner chooses, without a plan sequential, "
                         "or joint where something is carried",
                 .omit_default = true,
                 .allowed = ModeNames()});
  visit(c.recompute_every,
        {.name = "recompute_every",
         .help = "Layers whose insides are computed again instead of kept for the backward: every layer (1), "
                 "every k-th (k), none (0). Not given: the planner chooses, without a plan none",
         .omit_default = true,
         .low = 0,
         .high = 1 << 10});
}

template <typename Visitor, typename Settings>
void FieldsOfItself(Visitor& visit, Settings& c) {
  visit(c.options,
        {.name = "options", .help = "Values of the task's options; see medley tasks", .fixed = true});
  visit(c.terms, {.name = "terms", .help = "Weights of the task's loss terms", .low = 0, .high = 1e6});
}

template <typename Visitor>
void Fields(Visitor& visit, TaskConfig& c) {
  FieldsOfExecution(visit, c);
  visit(c.variant, {.name = "variant", .help = "One of the task's variants", .fixed = true});
  FieldsOfItself(visit, c);
}

template <typename Visitor>
void Fields(Visitor& visit, TaskChange& c) {
  FieldsOfExecution(visit, c);
  FieldsOfItself(visit, c);
}

template <typename Visitor>
void Fields(Visitor& visit, TaskChanges& c) {
  visit.Dotted(c.tasks, {.name = "tasks"});
}
template void Fields(FieldReader& visit, TaskChanges& changes);
template void Fields(FieldDumper& visit, TaskChanges& changes);
template void Fields(SchemaWriter& visit, TaskChanges& changes);

template <typename Visitor>
void Fields(Visitor& visit, ParameterGroup& c) {
  visit(c.match, {.name = "match",
                  .help = "Names of parameters, with * and ?; the first group that matches wins",
                  .required = true});
  visit(
      c.learning_rate_scale,
      {.name = "learning_rate_scale", .help = "Times the optimizer's learning rate", .low = 0, .high = 1e6});
  visit(c.weight_decay, {.name = "weight_decay",
                         .help = "Not given: the optimizer's",
                         .omit_default = true,
                         .low = 0,
                         .high = 1});
  visit(c.frozen, {.name = "frozen", .help = "Not trained; needs no optimizer state"});
}

template <typename Visitor>
void Fields(Visitor& visit, OptimizerConfig& c) {
  visit(c.learning_rate,
        {.name = "learning_rate", .help = "After the warm-up", .low = 0, .high = 100, .above_low = true});
  visit(c.beta1,
        {.name = "beta1", .help = "AdamW's decay of the mean", .low = 0, .high = 1, .below_high = true});
  visit(c.beta2,
        {.name = "beta2", .help = "AdamW's decay of the squares", .low = 0, .high = 1, .below_high = true});
  visit(c.epsilon, {.name = "epsilon", .help = "AdamW's epsilon", .low = 0, .high = 1, .above_low = true});
  visit(c.weight_decay,
        {.name = "weight_decay", .help = "AdamW's decoupled weight decay", .low = 0, .high = 1});
  visit(c.clip_norm,
        {.name = "clip_norm", .help = "The gradient's largest norm; 0: no clipping", .low = 0, .high = 1e12});
  visit(c.schedule,
        {.name = "schedule",
         .help = "The learning rate's way: wsd (warmup, stable, decay), or one_cycle (a cosine up from "
                 "1/25 and a longer one down to 1/250,000, over all steps)",
         .allowed = {"wsd", "one_cycle"}});
  visit(c.rise_fraction, {.name = "rise_fraction",
                          .help = "Part of the steps in which one_cycle rises",
                          .low = 0,
                          .high = 1,
                          .above_low = true,
                          .below_high = true});
  visit(c.warmup_steps, {.name = "warmup_steps", .help = "Steps of linear warm-up", .low = 0});
  visit(c.decay_fraction, {.name = "decay_fraction",
                           .help = "Part of the steps, at the end, of linear decay",
                           .low = 0,
                           .high = 1});
  visit(c.final_scale,
        {.name = "final_scale", .help = "Times the learning rate at the last step", .low = 0, .high = 1});
  visit(c.groups, {.name = "groups", .help = "Settings of some parameters"});
}

template <typename Visitor>
void Fields(Visitor& visit, EvalConfig& c) {
  visit(c.every, {.name = "every", .help = "Steps between two evaluations; 0: only when asked", .low = 0});
  visit(c.rows, {.name = "rows",
                 .help = "Rows a task; of finite data each held-out item once at most",
                 .low = 1,
                 .high = 1 << 20});
}

template <typename Visitor>
void Fields(Visitor& visit, CheckpointConfig& c) {
  visit(c.every, {.name = "every", .help = "Steps between two checkpoints; 0: only at the end", .low = 0});
  visit(c.keep,
        {.name = "keep", .help = "How many of the newest are kept, beside the best", .low = 1, .high = 1000});
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
}

template <typename Visitor>
void Fields(Visitor& visit, InitFrom& c) {
  visit(c.run,
        {.name = "run",
         .help = "The directory of the run whose newest weights are taken, or of one of its checkpoints",
         .required = true,
         .path = PathKind::kLater});
  visit(c.match, {.name = "match", .help = "Names of the parameters to take, with * and ?"});
}

template <typename Visitor>
void Fields(Visitor& visit, LoraConfig& c) {
  visit(c.rank, {.name = "rank",
                 .help = "Of every adapter. Needed where \"pretrained\" is not given",
                 .omit_default = true,
                 .low = 1,
                 .high = 1 << 16,
                 .fixed = true});
  visit(c.alpha, {.name = "alpha",
                  .help = "What an adapter gives counts alpha / rank. Not given: 16",
                  .omit_default = true,
                  .low = 0,
                  .high = 1e6,
                  .above_low = true,
                  .fixed = true});
  visit(c.dropout, {.name = "dropout",
                    .help = "Of what goes into the adapters, while training",
                    .low = 0,
                    .high = 1,
                    .below_high = true});
  visit(c.rslora,
        {.name = "rslora", .help = "What an adapter gives counts alpha / sqrt(rank)", .fixed = true});
  visit(c.targets, {.name = "targets",
                    .help = "Which linear maps get an adapter: their names, or the ends of names behind a "
                            "dot (\"q_proj\"); or one regular expression for whole names; or "
                            "\"all-linear\". Not given: q_proj, k_proj, v_proj, o_proj, gate_proj, "
                            "up_proj, down_proj",
                    .omit_default = true,
                    .fixed = true});
  visit(c.new_tokens, {.name = "new_tokens",
                       .help = "Also train the rows of tokens that medley added to a published vocabulary",
                       .fixed = true});
  visit(c.tokens, {.name = "tokens",
                   .help = "Ids of further tokens whose rows are trained",
                   .omit_default = true,
                   .low = 0,
                   .high = 1 << 24,
                   .fixed = true});
  visit(c.pretrained,
        {.name = "pretrained",
         .help = "A folder of PEFT's (adapter_config.json, adapter_model.safetensors) whose "
                 "adapters the run begins with; rank, alpha, rslora, targets and tokens are its",
         .omit_default = true,
         .path = PathKind::kLater});
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
  visit(c.dtype, {.name = "dtype",
                  .help = "Of weights and activations: fp32, or bf16, half as large and faster where the "
                          "machine multiplies it; training then keeps fp32 masters of what it trains, and "
                          "sums, norms and losses are in fp32 too",
                  .allowed = {"fp32", "bf16"}});
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
                 .help = "Of weights, rows and everything else that is drawn",
                 .low = 0,
                 .fixed = true});
  visit(c.steps, {.name = "steps",
                  .help = "Optimizer steps; the learning rate's schedule is a function of it",
                  .low = 1});
  visit(c.hours, {.name = "hours",
                  .help = "How long the run may take; a resume counts anew. Where the steps take longer, the "
                          "learning rate's decay begins early, so that the run ends decayed and in time; a "
                          "decay that has begun is finished. With decay_fraction 0 or 1, or one_cycle, the "
                          "run stops, saved. 0: no limit",
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
  visit(c.draws_per_step, {.name = "draws_per_step",
                           .help = "Draws whose gradients add up to one step",
                           .low = 1,
                           .high = 1 << 16,
                           .fixed = true});
  visit(c.on_task_error, {.name = "on_task_error",
                          .help = "A task that fails ends the run, saved, or is dropped",
                          .allowed = {"stop", "drop"}});
  visit(c.data, {.name = "data", .help = "Sampling ahead of the training"});
  visit(c.init_from, {.name = "init_from",
                      .help = "Another run's weights to start from",
                      .omit_default = true,
                      .fixed = true});
  visit(c.allow_missing,
        {.name = "allow_missing",
         .help = "Parameters, with * and ?, that the weights of a pretrained model may lack; they begin anew",
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
  visit(c.optimizer, {.name = "optimizer", .help = "AdamW and its schedule"});
  visit(c.tasks, {.name = "tasks", .help = "Settings by task; tasks that are not named get the defaults"});
}

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

void CheckTogether(ConfigFile& file, const RunConfig& config) {
  try {
    ParseBudget(config.budget);
  } catch (const InputError& error) {
    file.FailAt({"budget"}, error.what());
  }
  CheckSchedule(file, config.optimizer);
  CheckLora(file, config.lora);
  for (const auto& [name, task] : config.tasks) {
    if (const auto problem = CheckRows(task, config.plan))
      file.FailAt({"tasks", name, problem->key}, problem->message);
  }
}

}  // namespace

void ReadConfig(ConfigFile& file, RunConfig& config) {
  ReadFields(file, config);
  FillInByDevice(file, config);
  CheckTogether(file, config);
  FillInLora(config.lora);
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
  }
}

RunConfig ReadRunConfig(const std::filesystem::path& path, const std::vector<std::string>& overrides) {
  Diagnostics diagnostics;
  ConfigFile file(path, diagnostics);
  file.Override(overrides);
  RunConfig config;
  ReadConfig(file, config);
  diagnostics.Throw();
  return config;
}

std::optional<RowsProblem> CheckRows(const TaskConfig& task, bool plan) {
  if (task.rows == 0 && task.micro_rows > 0)
    return RowsProblem{"micro_rows",
                       "with \"rows\": \"auto\" all rows of a draw run in one forward; leave it out"};
  if (task.rows == 0 && !plan)
    return RowsProblem{"rows", "\"auto\" needs the planner; set \"plan\": true, or give a number of rows"};
  if (task.micro_rows > task.rows)
    return RowsProblem{"micro_rows", "expected at most the draw's " + std::to_string(task.rows) +
                                         " rows, found " + std::to_string(task.micro_rows)};
  return std::nullopt;
}

TaskConfig Changed(TaskConfig config, const TaskChange& change) {
  config.rows = change.rows.value_or(config.rows);
  config.micro_rows = change.micro_rows.value_or(config.micro_rows);
  config.mode = change.mode.value_or(config.mode);
  config.recompute_every = change.recompute_every.value_or(config.recompute_every);
  for (const auto& [option, value] : change.options) config.options[option] = value;
  for (const auto& [term, weight] : change.terms) config.terms[term] = weight;
  return config;
}

const TaskConfig& ConfigOf(const RunConfig& config, const std::string& form) {
  static const TaskConfig kDefaults;
  for (const auto* settings : {&config.tasks, &config.forms}) {
    if (const auto found = settings->find(form); found != settings->end()) return found->second;
  }
  if (TaskOfForm(form) != form) throw Error("nobody knows the settings of the form " + form);
  return kDefaults;
}

std::string FormOf(const RunConfig& config, const TaskChanges& changes, const std::string& task) {
  const auto change = changes.tasks.find(task);
  if (change == changes.tasks.end()) return task;
  const TaskConfig& own = ConfigOf(config, task);
  const auto settings = FieldDumper::Dump(Changed(own, change->second));
  constexpr std::size_t kShown = 6;
  return settings == FieldDumper::Dump(own) ? task : task + "@" + HashText(settings.dump()).substr(0, kShown);
}

std::string_view TaskOfForm(std::string_view form) { return form.substr(0, form.find('@')); }

std::string KeyOfForm(const std::string& form) {
  const std::string_view task = TaskOfForm(form);
  return (task == form ? "tasks." : "stage set tasks.") + std::string(task) + ".";
}

std::vector<std::string> FixedKeys(const std::set<std::string>& trained) {
  RunConfig config;
  for (const std::string& task : trained) config.tasks[task] = {};
  return FixedFields::Of(std::move(config));
}

nlohmann::ordered_json ToJson(const RunConfig& config) { return FieldDumper::Dump(config); }

nlohmann::ordered_json RunConfigSchema() {
  return SchemaWriter::File<RunConfig>("medley run config",
                                       "What medley train reads. Paths are relative to the file.");
}

}  // namespace medley
