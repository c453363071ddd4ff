#include <medley/plugin/model_json.h>

#include "json_list.h"

namespace medley {
namespace {

using nlohmann::ordered_json;

ordered_json FieldToJson(const FieldInfo& field) {
  switch (field.kind) {
    case FieldKind::kWord:
      return {{"name", field.name},
              {"default", field.words.front()},
              {"words", field.words},
              {"help", field.help}};
    case FieldKind::kSwitch:
      return {{"name", field.name}, {"default", field.value != 0}, {"help", field.help}};
    case FieldKind::kInteger:
      return {{"name", field.name},
              {"default", static_cast<std::int64_t>(field.value)},
              {"low", static_cast<std::int64_t>(field.low)},
              {"high", static_cast<std::int64_t>(field.high)},
              {"help", field.help}};
    case FieldKind::kNumber:
      break;
  }
  return {{"name", field.name},
          {"default", field.value},
          {field.above_low ? "above" : "low", field.low},
          {"high", field.high},
          {"help", field.help}};
}

ordered_json RuleToJson(const RuleInfo& rule) {
  ordered_json json{{"field", rule.field}};
  if (!rule.divides.empty()) json["divides"] = rule.divides;
  if (!rule.multiple_of.empty()) json["multiple_of"] = rule.multiple_of;
  if (rule.multiple > 0) json["multiple_of"] = rule.multiple;
  return json;
}

ordered_json TensorToJson(const TensorInfo& tensor) {
  ordered_json json{{"name", tensor.name}, {"dtype", tensor.dtype}, {"dimensions", tensor.dimensions}};
  if (!tensor.times.empty()) json["times"] = tensor.times;
  json["help"] = tensor.help;
  return json;
}

}  // namespace

ordered_json ModelToJson(const ModelInfo& model, const Registry& registry) {
  ordered_json json{{"name", model.name}, {"version", model.version}, {"summary", model.summary}};
  json["groups"] = JsonList(model.groups, [](const GroupInfo& group) {
    return ordered_json{{"name", group.name}, {"help", group.help}};
  });
  json["fields"] = JsonList(model.fields, FieldToJson);
  json["rules"] = JsonList(model.rules, RuleToJson);
  json["sizes"] = JsonList(model.sizes, [](const SizeInfo& size) {
    return ordered_json{{"name", size.name}, {"ragged", size.ragged}, {"help", size.help}};
  });
  json["inputs"] = JsonList(model.inputs, TensorToJson);
  json["outputs"] = JsonList(model.outputs, TensorToJson);
  json["tokenizer"] = model.tokenizer;
  json["control_text"] = model.control_text;
  json["pictures"] = !model.picture_size.empty();
  json["pretrained"] = model.pretrained_group.empty() ? ordered_json() : ordered_json(model.pretrained_group);
  const PluginFile* plugin = registry.FileOfModel(model.name);
  json["plugin"] = plugin == nullptr ? ordered_json() : ordered_json(plugin->path.string());
  if (plugin != nullptr) json["build_id"] = plugin->build_id;
  return json;
}

}  // namespace medley
