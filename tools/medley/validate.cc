#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <medley/base/bytes.h>
#include <medley/base/files.h>
#include <medley/base/json_text.h>
#include <medley/base/suggest.h>
#include <medley/config/config_file.h>
#include <medley/config/threads.h>
#include <medley/estimate/gpu.h>
#include <medley/model/agent/agent_config.h>
#include <medley/run/validate.h>
#include <medley/step/execution.h>

#include "tools/medley/arguments.h"
#include "tools/medley/verbs.h"

namespace medley {
namespace {

// Beyond this many draws the shares no longer move.
constexpr std::int64_t kMostSimulated = 100'000;

std::string WordOf(const RunConfig& run, const VariantInfo& variant, const std::string& task) {
  const std::string& mode = ConfigOf(run, task).mode;
  if (!mode.empty()) return mode;
  return std::string(ModeName(DefaultMode(variant)));
}

void PrintTask(const CheckedRun& checked, const Registry& registry, const std::string& name,
               const Mixer::Share& share, double scale, std::int64_t rows) {
  const std::string& variant_name = ConfigOf(checked.run, name).variant;
  const VariantInfo& variant = *registry.Require(name).FindVariant(variant_name);
  const std::string mode = WordOf(checked.run, variant, name);
  std::printf("  %-24s %6.1f %% %6lld %10.0f %12.0f  %zu, %s%s\n", name.c_str(), 100 * share.asked,
              static_cast<long long>(rows), static_cast<double>(share.draws) * scale,
              static_cast<double>(share.rows) * scale, variant.passes.size(), mode.c_str(),
              variant_name == "default" ? "" : (", " + variant_name).c_str());
}

void PrintSummary(const CheckedRun& checked, const Registry& registry) {
  const RunConfig& run = checked.run;
  const std::int64_t draws = run.steps * run.draws_per_step;
  const std::map<std::string, TaskSize> sizes = TaskSizes(checked, registry);
  Mixer mixer(checked.mixture, sizes, static_cast<std::uint64_t>(run.seed));
  const std::int64_t simulated = std::min(draws, kMostSimulated);
  mixer.Commit(mixer.Peek(simulated));
  const double scale = static_cast<double>(draws) / static_cast<double>(simulated);

  std::printf(
      "ok: %lld steps of %lld draw%s on %s, weights in %s (%s)\n\n", static_cast<long long>(run.steps),
      static_cast<long long>(run.draws_per_step), run.draws_per_step == 1 ? "" : "s", run.device.c_str(),
      std::string(NameOf(checked.mixture.unit)).c_str(), std::string(NameOf(checked.mixture.order)).c_str());
  std::printf("  %-24s %8s %6s %10s %12s  %s\n", "task", "share", "rows", "draws", "rows in all",
              "passes, mode");
  const auto shares = mixer.Shares();
  std::vector<std::string> paused;
  for (const auto& [name, weight] : checked.mixture.weights) {
    if (weight == 0)
      paused.push_back(name);
    else
      PrintTask(checked, registry, name, shares.at(name), scale, sizes.at(name).rows);
  }
  if (!paused.empty()) std::printf("  paused: %s\n", JoinNames(paused).c_str());
  for (const std::string& line : registry.Choices(checked.mixture.Active()))
    std::printf("  %s\n", line.c_str());
  std::printf("\n  model %s, tokenizer %s, seed %lld\n", DisplayPath(run.model).c_str(),
              DisplayPath(run.tokenizer).c_str(), static_cast<long long>(run.seed));
}

const std::vector<std::string> kKinds = {"run", "weights", "model", "gpu"};

// By the name of its schema; without one a model says its kind. Else a run config, whose reader says what is
// wrong.
std::string KindOf(const std::filesystem::path& path) {
  Diagnostics ignored;
  const ConfigFile file(path, ignored);
  if (file.root() == nullptr) return "run";
  const JsonNode* schema = file.root()->Find("$schema");
  if (schema == nullptr || !schema->IsString()) return file.root()->Find("kind") != nullptr ? "model" : "run";
  const std::string name = std::filesystem::path(schema->scalar.get<std::string>()).filename().string();
  for (const std::string& kind : kKinds) {
    if (name == kind + ".schema.json") return kind;
  }
  return "run";
}

void PrintWeights(const Mixture& mixture) {
  std::printf("ok: weights of %zu tasks, in %s; medley validate of a run says whether the tasks are there\n",
              mixture.weights.size(), std::string(NameOf(mixture.unit)).c_str());
}

void PrintModel(const AgentConfig& model) {
  std::printf("ok: an agent, %lld layers of width %lld, pictures of %lld pixels a side\n",
              static_cast<long long>(model.language.layers), static_cast<long long>(model.language.hidden),
              static_cast<long long>(model.image.size));
}

void PrintGpu(const Gpu& gpu) {
  std::printf("ok: a GPU '%s', %s, of them %s for tensors\n", gpu.name.c_str(),
              FormatBytes(gpu.memory).c_str(), FormatBytes(gpu.usable()).c_str());
}

void ValidateOther(const std::string& kind, const std::filesystem::path& file,
                   const std::vector<std::string>& overrides) {
  if (!overrides.empty()) {
    throw InputError("'" + overrides.front() + "' replaces a value of a run config, and " +
                     DisplayPath(file) + " is a " + kind + " file; leave it out");
  }
  if (kind == "weights") PrintWeights(ReadMixture(file));
  if (kind == "model") PrintModel(ReadAgentConfig(file));
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
  PluginSearch search;
  AddPluginPath(app, search.paths)->check(CLI::ExistingPath);
  app.add_option("--schema", schema, "print the JSON Schema of a kind of file instead")
      ->check(CLI::IsMember(kKinds));
  if (!ParseArguments(app, argc, argv)) return 0;

  if (!schema.empty()) {
    const auto json = schema == "run"       ? RunConfigSchema()
                      : schema == "weights" ? MixtureSchema()
                      : schema == "gpu"     ? GpuSchema()
                                            : AgentConfigSchema();
    std::cout << JsonText(json, 2) << '\n';
    return 0;
  }
  if (config_option->empty())
    throw InputError("medley validate: CONFIG is required (medley validate --help)");
  if (const std::string kind = KindOf(config); kind != "run") {
    ValidateOther(kind, config, overrides);
    return 0;
  }
  for (const auto& path : PluginPaths(config, overrides)) search.paths.push_back(path);
  const Registry registry = Registry::Scan(search);
  registry.RequireNamed();
  const CheckedRun checked = CheckRun(config, overrides, registry);
  const std::string threads = ThreadsWarning(checked.run.threads, Cores());
  if (!threads.empty()) std::cerr << "warning: " << threads << '\n';
  PrintSummary(checked, registry);
  return 0;
}

}  // namespace medley
