#include <medley/plugin/info_json.h>

#include <medley/plugin/variant_of.h>

#include <map>
#include <optional>

namespace medley {
namespace {

using nlohmann::ordered_json;

// Those of which not all is shown as it stands in the note.
ordered_json Shown(const PassInfo& pass);
ordered_json Shown(const OptionInfo& option);
ordered_json Shown(const FieldInfo& field);
ordered_json Shown(const RuleInfo& rule);
ordered_json Shown(const SizeInfo& size);
ordered_json Shown(const TensorInfo& tensor);
template <typename Info>
ordered_json Shown(const Info& info);

template <typename T>
ordered_json ValueToJson(const T& value) {
  if constexpr (facts::HasFields<T>) {
    return Shown(value);
  } else if constexpr (std::is_same_v<T, std::optional<double>>) {
    return value ? ordered_json(*value) : ordered_json();
  } else if constexpr (requires { typename T::value_type::size_type; }) {  // texts
    return value;
  } else if constexpr (requires { value.begin(); } && !std::is_same_v<T, std::string>) {
    ordered_json list = ordered_json::array();
    for (const auto& item : value) list.push_back(Shown(item));
    return list;
  } else {
    return value;
  }
}

// All fields as they are.
template <typename Info>
ordered_json Plain(const Info& info) {
  ordered_json json = ordered_json::object();
  const auto visit = [&](const facts::Fact& fact, const auto& value) {
    ordered_json shown = ValueToJson(value);
    const bool is_nothing = shown.is_string() ? shown.template get_ref<const std::string&>().empty()
                                              : shown.empty() || shown == false || shown == 0;
    if (!fact.only_given || !is_nothing) json[std::string(fact.key)] = std::move(shown);
  };
  Info::Fields(visit, info);
  return json;
}

template <typename Info>
ordered_json Shown(const Info& info) {
  return Plain(info);
}

// In place.
void Rename(ordered_json& json, const char* key, const char* name, const ordered_json& value) {
  ordered_json renamed = ordered_json::object();
  for (auto& [found, held] : json.items())
    found == key ? renamed[name] = value : renamed[found] = std::move(held);
  json = std::move(renamed);
}

ordered_json Shown(const PassInfo& pass) {
  ordered_json json = Plain(pass);
  std::map<std::string, int> sizes;
  for (const auto& size : pass.sizes) sizes.emplace(size.name, size.most);
  json["sizes"] = sizes;
  return json;
}

ordered_json Shown(const OptionInfo& option) {
  ordered_json json = Plain(option);
  std::visit([&](const auto& value) { json["value"] = value; }, option.Default());
  json.erase("kind");
  if (option.kind != OptionKind::kNumber) json.erase("low"), json.erase("high");
  if (option.kind != OptionKind::kWord) json.erase("words");
  if (option.kind == OptionKind::kPath)
    Rename(json, "required", "path", option.required ? "required" : "optional");
  json.erase("required");
  return json;
}

ordered_json Shown(const FieldInfo& field) {
  ordered_json json = Plain(field);
  const bool is_integer = field.kind == FieldKind::kInteger, is_word = field.kind == FieldKind::kWord;
  const auto number = [&](double value) {
    return is_integer ? ordered_json(static_cast<std::int64_t>(value)) : ordered_json(value);
  };
  Rename(json, "value", "default",
         is_word                            ? ordered_json(field.words.front())
         : field.kind == FieldKind::kSwitch ? ordered_json(field.value != 0)
                                            : number(field.value));
  json["low"] = number(field.low), json["high"] = number(field.high);
  if (is_word || field.kind == FieldKind::kSwitch) json.erase("low"), json.erase("high");
  if (field.above_low) Rename(json, "low", "above", number(field.low));
  if (!is_word) json.erase("words");
  json.erase("kind"), json.erase("above_low");
  return json;
}

ordered_json Shown(const RuleInfo& rule) {
  ordered_json json = Plain(rule);
  if (rule.where.empty()) json.erase("where");
  if (rule.divides.empty()) json.erase("divides");
  if (rule.multiple_of.empty()) json.erase("multiple_of");
  if (rule.multiple > 0) json["multiple_of"] = rule.multiple;
  json.erase("multiple"), json.erase("why");
  return json;
}

ordered_json Shown(const SizeInfo& size) {
  ordered_json json = Plain(size);
  json.erase("lengths");
  return json;
}

ordered_json Shown(const TensorInfo& tensor) {
  ordered_json json = Plain(tensor);
  if (tensor.times.empty()) json.erase("times");
  return json;
}

}  // namespace

ordered_json TaskToJson(const TaskInfo& task, const PluginFile& file) {
  ordered_json json = Plain(WithDefaultSizes(task).AsDeclared());
  json["plugin"] = file.path.string();
  json["build_id"] = file.build_id;
  return json;
}

ordered_json ModelToJson(const ModelInfo& model, const Registry& registry) {
  ordered_json json = Plain(model);
  json["pictures"] = !model.pictures.size.empty();
  json["pretrained"] = model.pretrained.group.empty() ? ordered_json() : ordered_json(model.pretrained.group);
  json.erase("tower");
  if (!model.tower.empty()) json["tower"] = model.tower.group;
  const PluginFile* plugin = registry.FileOfModel(model.name);
  json["plugin"] = plugin == nullptr ? ordered_json() : ordered_json(plugin->path.string());
  if (plugin != nullptr) json["build_id"] = plugin->build_id;
  return json;
}

}  // namespace medley
