#include <medley/run/export_model.h>

#include <ATen/core/grad_mode.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <medley/base/durable_file.h>
#include <medley/base/files.h>
#include <medley/base/json_text.h>
#include <medley/base/version.h>
#include <medley/model/agent/agent_spec.h>
#include <medley/model/mlp_model.h>
#include <medley/plugin/task_classes.h>
#include <medley/run/model_python.h>
#include <medley/text/special_tokens.h>
#include <medley/weights/adapter_merge.h>
#include <medley/weights/model_config_file.h>
#include <medley/weights/pretrained_files.h>
#include <medley/weights/safetensors.h>

#include "export_check.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::size_t kPictureLabels = 4;  // of pictures

void WriteTensors(const fs::path& file, const std::vector<Parameter>& tensors) {
  ReplaceFile(file, [&](NewFile& out) {
    WriteSafetensors(tensors, {{"format", "pt"}},
                     [&](const void* bytes, std::size_t count) { out.Write(bytes, count); });
  });
}

void WriteObject(const fs::path& file, const ordered_json& json) {
  ReplaceFile(file, JsonText(json, 2) + "\n");
}

ordered_json Described(const Run& run) {
  const ModelFile& file = *run.model_file;
  ordered_json config = ToJson(file.config, file.info);
  for (ordered_json& group : config) {  // where it came from is nothing that it computes
    if (group.is_object()) group.erase("pretrained"), group.erase("ignored_keys");
  }
  return {{"medley", Version()},
          {"kind", file.info.name},
          {"config", config},
          {"inputs", file.info.InputNames()},
          {"outputs", file.info.OutputNames()}};
}

// What stands around pictures, as tokens, and how many words there are.
ordered_json DescribedAgent(const Run& run) {
  ordered_json json = Described(run);
  json["vocabulary"] = run.model->vocabulary();
  for (std::size_t image = 1; image <= kPictureLabels; ++image)
    json["image_labels"].push_back(run.tokenizer->Encode(ImageLabel(image)));
  json["image_end"] = run.tokenizer->Encode(kImageEnd);
  return json;
}

bool SeesByTower(const ModelConfig& config) {
  return config.Has("tower.kind") && config.Word("tower.kind") != "none";
}

// The rows are compared with what the files hold.
void RoundLanguage(const Run& run, at::ScalarType type) {
  const at::NoGradGuard no_grad;
  for (const Parameter& parameter : run.model->parameters()) {
    if (!PublishedName(parameter.name, run.model_file->info.pretrained.root).empty())
      parameter.tensor.copy_(parameter.tensor.to(type).to(parameter.tensor.scalar_type()));
  }
}

ordered_json LabelsOf(const Run& run) {
  ordered_json labels = ordered_json::object();
  for (const std::string& name : run.NamedTasks()) {
    const std::string field = ClassesField(run.registry->Require(name), run.model_file->info);
    if (field.empty()) continue;
    std::vector<std::string> classes = run.rules->ClassesOf(name);
    // Of a task that does not name them, numbers.
    for (std::int64_t label = std::ssize(classes); label < run.model_file->config.Integer(field); ++label)
      classes.push_back(std::to_string(label));
    labels[name] = classes;
  }
  return labels;
}

// That of the plugin's author, else of the class; returns words where there is none.
std::string WritePython(const Run& run, const fs::path& file) {
  const std::string& kind = run.model_file->info.name;
  const PluginFile* plugin = run.registry->FileOfModel(kind);
  fs::path python = plugin == nullptr ? fs::path() : plugin->path;
  python.replace_extension(".py");
  if (plugin != nullptr && FileProblem(python).empty()) {
    ReplaceFile(file, ReadFile(python));
  } else if (dynamic_cast<const MlpModel*>(run.model.get()) != nullptr) {
    ReplaceFile(file, kMlpPython);
  } else {
    return "there is no model.py in it: the model '" + kind + "' in plain torch would be " +
           DisplayPath(python) + ", which its author writes (medley_add_plugin with MODEL_PY)";
  }
  return "";
}

}  // namespace

void WriteAgentPython(const Run& run, const fs::path& folder, at::ScalarType type) {
  const ModelFile& file = *run.model_file;
  if (file.info.name != kAgentSpec.name || SeesByTower(file.config) || run.tokenizer == nullptr) return;
  RoundLanguage(run, type);
  WriteObject(folder / "medley.json", DescribedAgent(run));
  ReplaceFile(folder / "model.py", kAgentPython);
  WriteTensors(folder / "check.safetensors", AgentRows(*run.model, file.config));
}

std::string WriteModel(const Run& run, const fs::path& folder) {
  const std::vector<Parameter> parameters = MergeAdapters(run.model->parameters(), run.Adapted());
  WriteObject(folder / "medley.json", Described(run));
  if (const ordered_json labels = LabelsOf(run); !labels.empty()) WriteObject(folder / "labels.json", labels);
  WriteTensors(folder / "check.safetensors", TaskRows(run));
  WriteTensors(folder / kPretrainedWeightsFile, parameters);
  return WritePython(run, folder / "model.py");
}

}  // namespace medley
