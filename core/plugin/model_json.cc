#include <medley/plugin/model_json.h>

namespace medley {
namespace {

using Json = nlohmann::ordered_json;

template <typename Items, typename Fn>
Json List(const Items& items, Fn to_json) {
  Json list = Json::array();
  for (const auto& item : items) list.push_back(to_json(item));
  return list;
}

Json FieldToJson(const FieldInfo& field) {
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

Json RuleToJson(const RuleInfo& rule) {
  Json json{{"field", rule.field}};
  if (!rule.divides.empty()) json["divides"] = rule.divides;
  if (!rule.multiple_of.empty()) json["multiple_of"] = rule.multiple_of;
  if (rule.multiple > 0) json["multiple_of"] = rule.multiple;
  return json;
}

Json TensorToJson(const TensorInfo& tensor) {
  Json json{{"name", tensor.name}, {"dtype", tensor.dtype}, {"dimensions", tensor.dimensions}};
  if (!tensor.times.empty()) json["times"] = tensor.times;
  json["help"] = tensor.help;
  return json;
}

}  // namespace

Json ModelToJson(const ModelInfo& model, const Registry& registry) {
  Json json{{"name", model.name}, {"version", model.version}, {"summary", model.summary}};
  json["groups"] = List(model.groups, [](const GroupInfo& group) {
    return Json{{"name", group.name}, {"help", group.help}};
  });
  json["fields"] = List(model.fields, FieldToJson);
  json["rules"] = List(model.rules, RuleToJson);
  json["sizes"] = List(model.sizes, [](const SizeInfo& size) {
    return Json{{"name", size.name}, {"ragged", size.ragged}, {"help", size.help}};
  });
  json["inputs"] = List(model.inputs, TensorToJson);
  json["outputs"] = List(model.outputs, TensorToJson);
  json["tokenizer"] = model.tokenizer;
  json["control_text"] = model.control_text;
  json["pictures"] = !model.picture_size.empty();
  json["pretrained"] = model.pretrained_group.empty() ? Json() : Json(model.pretrained_group);
  const PluginFile* plugin = registry.FileOfModel(model.name);
  json["plugin"] = plugin == nullptr ? Json() : Json(plugin->path.string());
  if (plugin != nullptr) json["build_id"] = plugin->build_id;
  return json;
}

}  // namespace medley
