#include "tools/medley/task_inputs.h"

#include <nlohmann/json.hpp>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/json_text.h>
#include <medley/base/suggest.h>
#include <medley/base/version.h>
#include <medley/plugin/model_file.h>
#include <medley/run/curriculum_check.h>

namespace medley {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

void RequireNoOptions(const TaskInfo& task) {
  std::vector<std::string> required;
  for (const OptionInfo& option : task.options) {
    if (option.required) required.push_back(option.name);
  }
  if (!required.empty()) throw NeedsConfig{"it requires the option " + JoinNames(required)};
}

fs::path FittingModel(const TaskInfo& task, const Registry& registry, const fs::path& scratch) {
  const fs::path agent = ConfigDirectory() / "models" / "agent-tiny.json";
  for (const ModelInfo& model : registry.FileOf(task.name).models) {
    if (ModelProblems(task, model).empty()) return ModelOfKind(scratch, model.name);
  }
  const std::vector<std::string> problems = ModelProblems(task, ReadModelFile(agent, registry).info);
  if (problems.empty()) return agent;
  for (const ModelInfo* model : registry.models()) {
    if (ModelProblems(task, *model).empty()) return ModelOfKind(scratch, model->name);
  }
  throw NeedsConfig{"no model that is there fits: " + problems.front()};
}

}  // namespace

fs::path ModelOfKind(const fs::path& scratch, const std::string& kind) {
  const fs::path file = scratch / "model.json";
  ReplaceFile(file, JsonText(Json{{"kind", kind}}) + "\n");
  return file;
}

std::string WeightsOfTask(const fs::path& scratch, const std::string& task) {
  const fs::path file = scratch / "weights.json";
  ReplaceFile(file, JsonText(Json{{"weights", {{task, 1}}}}) + "\n");
  return "weights=" + file.string();
}

RunInputs InputsOfTask(const std::string& task, const Registry& registry, const fs::path& scratch,
                       const NamedPlugins& plugins, std::vector<std::string> overrides) {
  const TaskInfo& info = registry.Require(task);
  RequireNoOptions(info);
  overrides.push_back(WeightsOfTask(scratch, task));
  overrides.push_back("model=" + FittingModel(info, registry, scratch).string());
  try {
    return CheckInputs(ConfigDirectory() / "runs" / "plugin.json", overrides, plugins);
  } catch (const InputError& error) {
    throw NeedsConfig{error.what()};
  }
}

}  // namespace medley
