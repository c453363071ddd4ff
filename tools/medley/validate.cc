#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <medley/base/durable_file.h>
#include <medley/base/files.h>
#include <medley/base/json_text.h>
#include <medley/base/printable.h>
#include <medley/config/config_file.h>
#include <medley/config/mistakes.h>
#include <medley/config/threads.h>
#include <medley/curriculum/form_table.h>
#include <medley/curriculum/stage_check.h>
#include <medley/curriculum/weight_log.h>
#include <medley/run/data_files.h>
#include <medley/run/odd_settings.h>
#include <medley/run/published_files.h>
#include <medley/run/validate.h>
#include <medley/run/weight_log_check.h>
#include <medley/text/chat_file.h>

#include "tools/medley/arguments.h"
#include "tools/medley/validate_result.h"
#include "tools/medley/verbs.h"

namespace medley {
namespace {

const std::vector<std::string> kKinds = {"run", "weights", "model", "gpu", "chat"};

// By the name of its schema; without one a model says its kind, and a weights file has weights or stages
// where a run config names a file; a chat format goes to an assistant. Else a run config, whose reader says
// what is wrong.
std::string KindOf(const std::filesystem::path& path) {
  Diagnostics ignored;
  const ConfigFile file(path, ignored);
  if (file.root() == nullptr) return "run";
  const JsonNode* schema = file.root()->Find("$schema");
  if (schema == nullptr || !schema->IsString()) {
    const JsonNode* weights = file.root()->Find("weights");
    if (file.root()->Find("stages") != nullptr || (weights != nullptr && weights->IsObject()))
      return "weights";
    if (file.root()->Find("to_assistant") != nullptr) return "chat";
    return file.root()->Find("kind") != nullptr ? "model" : "run";
  }
  const std::string name = std::filesystem::path(schema->scalar.get<std::string>()).filename().string();
  for (const std::string& kind : kKinds) {
    if (name == kind + ".schema.json") return kind;
  }
  return "run";
}

using nlohmann::ordered_json;

struct ValidateArguments {
  std::string config, schema;
  std::vector<std::string> overrides;
  NamedPlugins plugins;
  bool as_json = false;
};

template <typename Found>
void Show(const Found& found, const std::string& kind, const ValidateArguments& arguments) {
  if (!arguments.as_json) return Print(found);
  const ordered_json json = {{"file", arguments.config}, {"ok", true}, {"kind", kind}, {kind, ToJson(found)}};
  std::cout << JsonText(json, 2) << '\n';
}

// A run's own may say what only an edit can.
Curriculum CheckedWeights(const std::filesystem::path& file) {
  Curriculum curriculum = ReadCurriculum(file);
  Diagnostics diagnostics;
  ConfigFile read(file, diagnostics, kLargestWeightsFile);
  const bool is_runs_own = file.filename() == kRunWeights &&
                           TypeOf(file.parent_path() / kWeightLog) != std::filesystem::file_type::not_found;
  if (!is_runs_own) CheckBeginning(read, curriculum);
  diagnostics.Throw();
  return curriculum;
}

void ValidateOther(const std::string& kind, const ValidateArguments& arguments) {
  const std::filesystem::path file = arguments.config;
  if (!arguments.overrides.empty()) {
    throw InputError("'" + Printable(arguments.overrides.front()) +
                     "' replaces a value of a run config, and " + DisplayPath(file) + " is a " + kind +
                     " file; leave it out");
  }
  if (kind == "weights") Show(OutlookOf(CheckedWeights(file)), kind, arguments);
  if (kind == "model")
    Show(ReadModelFile(file, Registry::Scan({.paths = arguments.plugins.paths})), kind, arguments);
  if (kind == "gpu") Show(ReadGpu(file), kind, arguments);
  if (kind == "chat") Show(ReadChatFile(file), kind, arguments);
}

// A task looks through its files when it is made, which takes its plugin and libtorch: nobody waits for them
// where no task names files.
void MakeTasksOfFiles(const ValidateArguments& arguments, const std::vector<std::string>& overrides,
                      const CheckedRun& checked, const Registry& registry) {
  const std::vector<Form> forms = FormTable(checked.run, checked.curriculum).Named(checked.curriculum);
  if (std::ranges::none_of(forms,
                           [&](const Form& form) { return NamesFiles(form, registry.Require(form.task)); }))
    return;
  std::vector<std::string> given{"taskfiles", arguments.config};
  for (const std::filesystem::path& path : arguments.plugins.paths)
    given.insert(given.end(), {"--plugin-path", path.string()});
  if (arguments.plugins.allow_config) given.emplace_back("--allow-config-plugins");
  given.insert(given.end(), overrides.begin(), overrides.end());
  std::vector<char*> argv;
  for (std::string& argument : given) argv.push_back(argument.data());
  argv.push_back(nullptr);
  RunVerb("taskfiles", static_cast<int>(given.size()), argv.data());
}

void ValidateRun(const ValidateArguments& arguments) {
  RunFiles files(arguments.config, arguments.overrides);
  const Registry registry = ScanPlugins(arguments.config, arguments.plugins, files).registry;
  for (const std::string& words : files.moved().AllWords()) std::cerr << words << '\n';
  std::vector<std::string> overrides = files.overrides();
  const std::string counted =
      PublishedFilesOf(arguments.config, files, registry).CountBySmallModel(overrides);
  if (!counted.empty()) std::cerr << counted << '\n';
  const CheckedRun checked = CheckRun(arguments.config, overrides, registry, RunAge::kBegins, std::nullopt,
                                      Locks::kHold, files.of_model());
  CheckDataFiles(checked.run, checked.curriculum, registry);
  MakeTasksOfFiles(arguments, overrides, checked, registry);
  const std::string threads = ThreadsWarning(checked.run.threads, Cores());
  if (!threads.empty()) std::cerr << "warning: " << threads << '\n';
  RunOutlook outlook = OutlookOf(checked, registry);
  for (OddSetting& setting : OddSettings(checked, registry))
    outlook.warnings.push_back(std::move(setting.words));
  for (const std::string& words : outlook.warnings) std::cerr << "warning: " << words << '\n';
  Show(outlook, "run", arguments);
}

ordered_json MistakesJson(const InputError& error) {
  std::vector<Mistake> mistakes = {{"", {}, error.what()}};
  if (const auto* listed = dynamic_cast<const Mistakes*>(&error)) mistakes = listed->list();
  ordered_json json = ordered_json::array();
  for (const Mistake& mistake : mistakes) {
    json.push_back({{"message", mistake.message}});
    if (!mistake.file.empty()) json.back()["file"] = mistake.file;
    if (mistake.at.line == 0) continue;
    json.back()["line"] = mistake.at.line;
    json.back()["column"] = mistake.at.column;
  }
  return json;
}

// What is wrong is the answer too.
void Validate(const ValidateArguments& arguments) {
  const std::string kind = KindOf(arguments.config);
  try {
    if (const std::filesystem::path file = arguments.config; file.filename() == kRunWeights)
      RequireOwnWeights(file.parent_path());
    kind == "run" ? ValidateRun(arguments) : ValidateOther(kind, arguments);
  } catch (const InputError& error) {
    const ordered_json json = {
        {"file", arguments.config}, {"ok", false}, {"kind", kind}, {"mistakes", MistakesJson(error)}};
    if (arguments.as_json) std::cout << JsonText(json, 2) << std::endl;
    throw;
  }
}

}  // namespace

int RunValidate(int argc, char** argv) {
  CLI::App app(
      "Checks a run config and every file that it names, or a weights, model or GPU file. Trains nothing.",
      "medley validate");
  ValidateArguments arguments;
  auto* config = app.add_option("CONFIG", arguments.config,
                                "the run config; or a file whose \"$schema\" is KIND.schema.json");
  app.add_option("KEY=VALUE", arguments.overrides, "values that replace the config's, such as steps=100");
  AddPlugins(app, arguments.plugins)->check(CLI::ExistingPath);
  auto* schema =
      app.add_option(
             "--schema", arguments.schema,
             "print the JSON Schema of a kind of file instead (of a model: medley models KIND --schema)")
          ->check(CLI::IsMember(std::vector<std::string>{"run", "weights", "gpu", "chat"}));
  AddJson(app, arguments.as_json)->excludes(schema);
  if (!ParseArguments(app, argc, argv)) return 0;

  if (!arguments.schema.empty()) {
    const auto json = arguments.schema == "run"       ? RunConfigSchema()
                      : arguments.schema == "weights" ? CurriculumSchema()
                      : arguments.schema == "chat"    ? ChatSchema()
                                                      : GpuSchema();
    std::cout << JsonText(json, 2) << '\n';
    return 0;
  }
  if (config->empty()) throw InputError("medley validate: CONFIG is required (medley validate --help)");
  Validate(arguments);
  return 0;
}

}  // namespace medley
