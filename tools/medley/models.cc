#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <string>

#include <medley/base/json_text.h>
#include <medley/base/printable.h>
#include <medley/base/suggest.h>
#include <medley/plugin/info_json.h>
#include <medley/plugin/registry.h>
#include <medley/report/table.h>
#include <medley/weights/model_config_file.h>

#include "tools/medley/arguments.h"
#include "tools/medley/describe.h"
#include "tools/medley/verbs.h"

namespace medley {
namespace {

std::string OriginOf(const ModelInfo& model, const Registry& registry) {
  const PluginFile* plugin = registry.FileOfModel(model.name);
  return plugin == nullptr ? "medley" : plugin->path.stem().string();
}

void PrintAll(const Registry& registry) {
  Table table({"model", "from", ""}, 3);
  table.Breaks("");
  for (const ModelInfo* model : registry.models())
    table.Add({model->name, OriginOf(*model, registry), Printable(model->summary)});
  std::cout << table.ToText();
}

const ModelInfo& Require(const Registry& registry, const std::string& kind) {
  if (const ModelInfo* model = registry.FindModel(kind)) return *model;
  std::vector<std::string> known;
  for (const ModelInfo* model : registry.models()) known.push_back(model->name);
  throw InputError("'" + Printable(kind) + "': " + NoSuchName("model", kind, known) + " (" +
                   registry.SearchedWords() + ")");
}

}  // namespace

int RunModels(int argc, char** argv) {
  CLI::App app(
      "Lists every model that can be trained, or says what one takes and gives, without loading any.",
      "medley models");
  std::string kind;
  bool json = false, schema = false;
  PluginSearch search;
  auto* kind_option = app.add_option("KIND", kind, "the \"kind\" of a model file");
  app.add_flag("--json", json, "as a JSON array of specs, or as the one spec");
  app.add_flag("--schema", schema, "the JSON Schema of the files of KIND")->needs(kind_option);
  AddPluginPath(app, search.paths);
  AddWide(app);
  if (!ParseArguments(app, argc, argv)) return 0;

  const Registry registry = Registry::Scan(search);
  registry.RequireNamed();
  if (schema) {
    std::cout << JsonText(ModelSchema(Require(registry, kind)), 2) << '\n';
  } else if (json) {
    nlohmann::ordered_json specs = nlohmann::ordered_json::array();
    for (const ModelInfo* model : registry.models()) {
      if (kind.empty() || model->name == kind) specs.push_back(ModelToJson(*model, registry));
    }
    if (!kind.empty()) specs = ModelToJson(Require(registry, kind), registry);
    std::cout << JsonText(specs, 2) << '\n';
  } else if (!kind.empty()) {
    const ModelInfo& model = Require(registry, kind);
    PrintModel(model, OriginOf(model, registry));
  } else {
    PrintAll(registry);
  }
  return 0;
}

}  // namespace medley
