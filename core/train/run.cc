#include <medley/train/run.h>

#include <ATen/Parallel.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include <medley/base/error.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/model/model_factory.h>
#include <medley/text/control_text.h>
#include <medley/text/sentencepiece_tokenizer.h>
#include <medley/train/checkpoint.h>
#include <medley/train/device.h>
#include <medley/train/run_directory.h>

namespace medley {
namespace {

namespace fs = std::filesystem;

const TaskConfig& ConfigOf(const RunConfig& config, const std::string& task) {
  static const TaskConfig kDefaults;
  const auto found = config.tasks.find(task);
  return found == config.tasks.end() ? kDefaults : found->second;
}

const VariantInfo& VariantOf(const Run& run, const std::string& task) {
  const TaskInfo& info = run.registry->Require(task);
  const std::string& name = ConfigOf(run.config, task).variant;
  if (const VariantInfo* variant = info.FindVariant(name)) return *variant;
  throw InputError("tasks." + task + ".variant: the task has no variant \"" + name + "\"");
}

void SetThreads(std::int64_t threads) {
  const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  at::set_num_threads(threads > 0 ? static_cast<int>(threads) : cores);
}

void OpenInputs(Run& run) {
  run.mixture = ReadMixture(run.config.weights);
  run.registry = std::make_unique<Registry>(Registry::Scan({.paths = run.config.plugin_path}));
  run.tokenizer = LoadTokenizer(run.config.tokenizer);
  run.control_text = ReadControlText(run.config.control_text);
}

ExecutionPlan PlanOf(const TaskConfig& config, const VariantInfo& variant) {
  ExecutionPlan plan;
  plan.mode = config.mode.empty() ? StepExecutor::DefaultMode(variant)
              : config.mode == "joint" ? Mode::kJoint
                                       : Mode::kSequential;
  plan.micro_rows = config.micro_rows;
  plan.term_weights = config.terms;
  return plan;
}

void PlanTasks(Run& run) {
  for (const std::string& task : run.ActiveTasks()) {
    run.plans[task] = PlanOf(ConfigOf(run.config, task), VariantOf(run, task));
  }
}

void MakeHost(Run& run) {
  PluginHost::Context context{*run.registry, *run.tokenizer, ReadImageGeometry(run.config.model), run.control_text, {}};
  for (const auto& [task, config] : run.config.tasks) context.settings[task] = {config.variant, config.options};
  run.host = std::make_unique<PluginHost>(std::move(context));
  run.task = [host = run.host.get()](const std::string& task) -> LoadedTask& { return host->Get(task); };
  run.is_loaded = [host = run.host.get()](const std::string& task) { return host->IsLoaded(task); };
}

void BuildModel(Run& run) {
  run.model = MakeModel(run.config.model, *run.tokenizer, static_cast<std::uint64_t>(run.config.seed));
  if (!run.device.is_cpu()) run.model->To(run.device, at::kFloat);
}

void MakeMixer(Run& run) {
  std::map<std::string, TaskSize> sizes;
  for (const auto& [task, weight] : run.mixture.weights) {
    const VariantInfo& variant = VariantOf(run, task);
    sizes[task] = {.rows = ConfigOf(run.config, task).rows,
                   .passes = static_cast<std::int64_t>(variant.passes.size()),
                   .tokens_per_row = std::max<std::int64_t>(1, variant.TokensPerRow())};
  }
  run.mixer = std::make_unique<Mixer>(run.mixture, std::move(sizes), static_cast<std::uint64_t>(run.config.seed));
}

}  // namespace

std::vector<std::string> Run::ActiveTasks() const {
  std::vector<std::string> tasks;
  for (const auto& [task, weight] : mixture.weights) {
    if (weight > 0) tasks.push_back(task);
  }
  return tasks;
}

std::unique_ptr<Run> BuildRun(const RunConfig& config, Purpose purpose) {
  InstallCpuAllocator();
  auto run = std::make_unique<Run>();
  run->config = config;
  run->device = OpenDevice(config.device);
  SetThreads(config.threads);
  OpenInputs(*run);
  PlanTasks(*run);
  MakeHost(*run);
  BuildModel(*run);
  if (purpose == Purpose::kUse) return run;
  MakeMixer(*run);
  run->executor = std::make_unique<StepExecutor>(*run->model, run->device, static_cast<std::uint64_t>(config.seed));
  run->optimizer = std::make_unique<AdamW>(*run->model, config.optimizer, config.steps);
  return run;
}

std::unique_ptr<Run> OpenTrainedRun(const fs::path& directory, Console& console) {
  auto run = BuildRun(ReadRunConfig(NewestConfig(directory)), Purpose::kUse);
  CompareRecord(ReadRunRecord(directory), RunRecord(*run));
  const auto found = FindCheckpoint(directory, OnDamage::kSkip, console);
  if (!found) throw InputError(directory.string() + " holds no checkpoint yet. Train it first: medley resume " + directory.string());
  LoadWeights(found->path, run->model->parameters());
  console.Say("weights of step " + std::to_string(found->facts.step) + " from " + found->path.string());
  return run;
}

void InitializeFrom(const InitFrom& from, const Model& model, Console& console) {
  if (from.run.empty()) return;
  if (!fs::is_directory(from.run)) throw InputError("init_from.run: " + from.run.string() + " is not a directory");
  const auto found = FindCheckpoint(from.run, OnDamage::kSkip, console);
  if (!found) throw InputError("init_from.run: " + from.run.string() + " holds no checkpoint");
  const std::size_t taken = LoadWeights(found->path, model.parameters(), from.match);
  console.Say("took " + std::to_string(taken) + " of " + std::to_string(model.parameters().size()) +
              " parameters from " + found->path.string());
}

}  // namespace medley
