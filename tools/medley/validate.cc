#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <medley/base/bytes.h>
#include <medley/base/durable_file.h>
#include <medley/base/files.h>
#include <medley/base/json_text.h>
#include <medley/base/suggest.h>
#include <medley/config/config_file.h>
#include <medley/config/threads.h>
#include <medley/curriculum/forecast.h>
#include <medley/curriculum/form_table.h>
#include <medley/curriculum/stage_check.h>
#include <medley/curriculum/weight_log.h>
#include <medley/estimate/gpu.h>
#include <medley/plugin/model_file.h>
#include <medley/plugin/rejection.h>
#include <medley/run/data_files.h>
#include <medley/run/validate.h>
#include <medley/run/weight_log_check.h>
#include <medley/step/execution.h>
#include <medley/weights/model_config_file.h>

#include "tools/medley/arguments.h"
#include "tools/medley/verbs.h"

namespace medley {
namespace {

void PrintTask(const Registry& registry, const Form& form, const Mixer::Share& share, double scale) {
  const TaskConfig& settings = form.settings;
  const VariantInfo& variant = *registry.Require(form.task).FindVariant(settings.variant);
  const std::string mode =
      settings.mode.empty() ? std::string(ModeName(DefaultMode(variant))) : settings.mode;
  std::printf("  %-24s %6.1f %% %6s %10.0f %12.0f  %zu, %s%s\n", form.task.c_str(), 100 * share.asked,
              settings.rows == 0 ? "auto" : std::to_string(settings.rows).c_str(),
              static_cast<double>(share.draws) * scale, static_cast<double>(share.rows) * scale,
              variant.passes.size(), mode.c_str(),
              settings.variant == "default" ? "" : (", " + settings.variant).c_str());
}

// The tasks of a stage in the longest run, with what they would get.
void PrintStage(const FormTable& forms, const Registry& registry, const Stage& stage,
                const StageForecast& forecast, double scale) {
  std::vector<std::string> paused;
  for (const auto& [name, weight] : stage.weights) {
    if (weight == 0)
      paused.push_back(name);
    else
      PrintTask(registry, forms.Of(stage, name), forecast.shares.at(name), scale);
  }
  if (!paused.empty()) std::printf("  paused: %s\n", JoinNames(paused).c_str());
}

void PrintSummary(const CheckedRun& checked, const Registry& registry) {
  const RunConfig& run = checked.run;
  const Curriculum& curriculum = checked.curriculum;
  const CurriculumDrawing drawing(curriculum, {.sizes = TaskSizes(checked, registry),
                                               .seed = static_cast<std::uint64_t>(run.seed),
                                               .steps = run.steps,
                                               .draws_per_step = run.draws_per_step,
                                               .eval_every = run.eval.every});
  std::printf("ok: %lld steps of %lld draw%s on %s, weights in %s (%s)\n\n",
              static_cast<long long>(run.steps), static_cast<long long>(run.draws_per_step),
              run.draws_per_step == 1 ? "" : "s", run.device.c_str(),
              std::string(NameOf(curriculum.unit)).c_str(), std::string(NameOf(curriculum.order)).c_str());
  std::printf("  %-24s %8s %6s %10s %12s  %s\n", "task", "share", "rows", "draws", "rows in all",
              "passes, mode");
  const FormTable forms(run, curriculum);
  for (std::size_t i = 0; i < curriculum.stages.size(); ++i) {
    if (drawing.has_stages()) std::printf("  -- %s\n", drawing.HeadOf(i).c_str());
    if (i < drawing.longest().stages.size())
      PrintStage(forms, registry, curriculum.stages[i], drawing.longest().stages[i], drawing.scale());
  }
  if (drawing.has_stages()) std::printf("\n  %s\n", drawing.LengthOfRun().c_str());
  for (const std::string& line : registry.Choices(curriculum.Named())) std::printf("  %s\n", line.c_str());
  const std::string tokenizer = run.tokenizer.empty() ? "" : ", tokenizer " + DisplayPath(run.tokenizer);
  std::printf("\n  model %s (%s)%s, seed %lld\n", DisplayPath(run.model).c_str(),
              checked.model->info.name.c_str(), tokenizer.c_str(), static_cast<long long>(run.seed));
  if (!checked.token_table.empty()) std::printf("  %s\n", checked.token_table.c_str());
}

const std::vector<std::string> kKinds = {"run", "weights", "model", "gpu"};

// By the name of its schema; without one a model says its kind, and a weights file has weights or stages
// where a run config names a file. Else a run config, whose reader says what is wrong.
std::string KindOf(const std::filesystem::path& path) {
  Diagnostics ignored;
  const ConfigFile file(path, ignored);
  if (file.root() == nullptr) return "run";
  const JsonNode* schema = file.root()->Find("$schema");
  if (schema == nullptr || !schema->IsString()) {
    const JsonNode* weights = file.root()->Find("weights");
    if (file.root()->Find("stages") != nullptr || (weights != nullptr && weights->IsObject()))
      return "weights";
    return file.root()->Find("kind") != nullptr ? "model" : "run";
  }
  const std::string name = std::filesystem::path(schema->scalar.get<std::string>()).filename().string();
  for (const std::string& kind : kKinds) {
    if (name == kind + ".schema.json") return kind;
  }
  return "run";
}

// How long a bar of all of a stage is.
constexpr int kBar = 40;

// Its stages one below the other, a bar for every share. Without a run config nobody knows the rows of a
// draw.
void PrintWeights(const Curriculum& curriculum) {
  std::printf("ok: weights of %zu tasks, in %s; medley validate of a run says whether the tasks are there\n",
              curriculum.All().size(), std::string(NameOf(curriculum.unit)).c_str());
  std::map<std::string, TaskSize> sizes;
  std::size_t longest_name = 0;
  for (const std::string& task : curriculum.All()) {
    sizes[task] = {.rows = TaskConfig().rows};
    longest_name = std::max(longest_name, task.size());
  }
  const CurriculumDrawing drawing(
      curriculum, {.sizes = sizes, .steps = static_cast<std::int64_t>(kLargestInteger), .eval_every = 1});
  for (std::size_t i = 0; i < curriculum.stages.size(); ++i) {
    if (drawing.has_stages()) std::printf("\n  %s\n", drawing.HeadOf(i).c_str());
    double sum = 0;
    for (const auto& [task, weight] : curriculum.stages[i].weights) sum += weight;
    for (const auto& [task, weight] : curriculum.stages[i].weights) {
      const std::string bar(static_cast<std::size_t>(std::ceil(kBar * weight / sum)), '#');
      std::printf("    %-*s %5.1f %%  %s\n", static_cast<int>(longest_name), task.c_str(), 100 * weight / sum,
                  bar.c_str());
    }
  }
  if (!drawing.has_stages()) return;
  std::printf(
      "\n  %s. Counted with %lld rows a draw and one draw a step; medley validate of a run counts with "
      "the run's\n",
      drawing.LengthOfRun().c_str(), static_cast<long long>(TaskConfig().rows));
}

void PrintModel(const ModelFile& model) {
  std::printf("ok: a model '%s', %s\n", model.info.name.c_str(), Printable(model.info.summary).c_str());
  std::cout << JsonText(ToJson(model.config, model.info), 2) << '\n';
}

void PrintGpu(const Gpu& gpu) {
  std::printf("ok: a GPU '%s', %s, of them %s for tensors\n", gpu.name.c_str(),
              FormatBytes(gpu.memory).c_str(), FormatBytes(gpu.usable()).c_str());
}

// A run's own may say what only an edit can.
void ValidateWeights(const std::filesystem::path& file) {
  const Curriculum curriculum = ReadCurriculum(file);
  Diagnostics diagnostics;
  ConfigFile read(file, diagnostics, kLargestWeightsFile);
  const bool is_runs_own = file.filename() == kRunWeights &&
                           TypeOf(file.parent_path() / kWeightLog) != std::filesystem::file_type::not_found;
  if (!is_runs_own) CheckBeginning(read, curriculum);
  diagnostics.Throw();
  PrintWeights(curriculum);
}

void ValidateOther(const std::string& kind, const std::filesystem::path& file,
                   const std::vector<std::string>& overrides, const PluginSearch& search) {
  if (!overrides.empty()) {
    throw InputError("'" + overrides.front() + "' replaces a value of a run config, and " +
                     DisplayPath(file) + " is a " + kind + " file; leave it out");
  }
  if (kind == "weights") ValidateWeights(file);
  if (kind == "model") PrintModel(ReadModelFile(file, Registry::Scan(search)));
  if (kind == "gpu") PrintGpu(ReadGpu(file));
}

}  // namespace

int RunValidate(int argc, char** argv) {
  CLI::App app(
      "Checks a run config and every file that it names, or a weights, model or GPU file. Trains nothing.",
      "medley validate");
  std::string config, schema;
  std::vector<std::string> overrides;
  auto* config_option =
      app.add_option("CONFIG", config, "the run config; or a file whose \"$schema\" is KIND.schema.json");
  app.add_option("KEY=VALUE", overrides, "values that replace the config's, such as steps=100");
  NamedPlugins plugins;
  AddPlugins(app, plugins)->check(CLI::ExistingPath);
  app.add_option("--schema", schema,
                 "print the JSON Schema of a kind of file instead (of a model: medley models KIND --schema)")
      ->check(CLI::IsMember(std::vector<std::string>{"run", "weights", "gpu"}));
  if (!ParseArguments(app, argc, argv)) return 0;

  if (!schema.empty()) {
    const auto json = schema == "run"       ? RunConfigSchema()
                      : schema == "weights" ? CurriculumSchema()
                                            : GpuSchema();
    std::cout << JsonText(json, 2) << '\n';
    return 0;
  }
  if (config_option->empty())
    throw InputError("medley validate: CONFIG is required (medley validate --help)");
  if (const std::filesystem::path file = config; file.filename() == kRunWeights)
    RequireOwnWeights(file.parent_path());
  if (const std::string kind = KindOf(config); kind != "run") {
    ValidateOther(kind, config, overrides, {.paths = plugins.paths});
    return 0;
  }
  const Registry registry =
      Registry::Scan({.paths = ConfirmPlugins(plugins, config, PluginPaths(config, overrides))});
  registry.RequireNamed();
  const CheckedRun checked = CheckRun(config, overrides, registry);
  CheckDataFiles(checked.run, checked.curriculum, registry);
  const std::string threads = ThreadsWarning(checked.run.threads, Cores());
  if (!threads.empty()) std::cerr << "warning: " << threads << '\n';
  PrintSummary(checked, registry);
  return 0;
}

}  // namespace medley
