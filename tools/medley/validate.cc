#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <medley/base/files.h>
#include <medley/base/suggest.h>
#include <medley/config/field.h>
#include <medley/config/validate.h>
#include <medley/memory/gpu.h>
#include <medley/model/agent/agent_config.h>

#include "tools/medley/arguments.h"
#include "tools/medley/verbs.h"

namespace medley {
namespace {

// Beyond this many draws the shares no longer move.
constexpr std::int64_t kMostSimulated = 100'000;

std::string WordOf(const RunConfig& run, const VariantInfo& variant, const std::string& task) {
  const auto settings = run.tasks.find(task);
  if (settings != run.tasks.end() && !settings->second.mode.empty()) return settings->second.mode;
  return variant.Carries() ? "joint" : "sequential";
}

void PrintTask(const CheckedRun& checked, const Registry& registry, const std::string& name,
               const Mixer::Share& share, double scale, std::int64_t rows) {
  const auto settings = checked.run.tasks.find(name);
  const std::string variant_name = settings == checked.run.tasks.end() ? "default" : settings->second.variant;
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
      std::string(EnumNames<ShareUnit>::kNames[static_cast<std::size_t>(checked.mixture.unit)]).c_str(),
      std::string(EnumNames<DrawOrder>::kNames[static_cast<std::size_t>(checked.mixture.order)]).c_str());
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
  std::printf("\n  model %s, tokenizer %s, seed %lld\n", DisplayPath(run.model).c_str(),
              DisplayPath(run.tokenizer).c_str(), static_cast<long long>(run.seed));
}

}  // namespace

int RunValidate(int argc, char** argv) {
  CLI::App app("Checks a run config and every file that it names, and trains nothing.", "medley validate");
  std::string config, schema;
  std::vector<std::string> overrides;
  auto* config_option = app.add_option("CONFIG", config, "the run config");
  app.add_option("KEY=VALUE", overrides, "values that replace the config's, such as steps=100");
  PluginSearch search;
  AddPluginPath(app, search.paths)->check(CLI::ExistingPath);
  app.add_option("--schema", schema, "print the JSON Schema of a kind of file instead")
      ->check(CLI::IsMember({"run", "weights", "model", "gpu"}));
  if (!ParseArguments(app, argc, argv)) return 0;

  if (!schema.empty()) {
    const auto json = schema == "run"       ? RunConfigSchema()
                      : schema == "weights" ? MixtureSchema()
                      : schema == "gpu"     ? GpuSchema()
                                            : AgentConfigSchema();
    std::cout << json.dump(2) << '\n';
    return 0;
  }
  if (config_option->empty())
    throw InputError("medley validate: CONFIG is required (medley validate --help)");
  for (const auto& path : PluginPaths(config, overrides)) search.paths.push_back(path);
  const Registry registry = Registry::Scan(search);
  PrintSummary(CheckRun(config, overrides, registry), registry);
  return 0;
}

}  // namespace medley
