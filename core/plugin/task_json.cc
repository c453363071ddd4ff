#include <medley/plugin/task_json.h>

namespace medley {
namespace {

using Json = nlohmann::ordered_json;

template <typename Items, typename Fn>
Json List(const Items& items, Fn to_json) {
  Json list = Json::array();
  for (const auto& item : items) list.push_back(to_json(item));
  return list;
}

Json Passes(const VariantInfo& variant) {
  return List(variant.passes, [](const PassInfo& pass) {
    return Json{{"name", pass.name},       {"text_width", pass.text_width},
                {"images", pass.images},   {"decodes_image", pass.decodes_image},
                {"carries", pass.carries}, {"sizes", pass.sizes}};
  });
}

Json Terms(const VariantInfo& variant) {
  return List(variant.terms, [](const TermInfo& term) {
    return Json{{"name", term.name}, {"weight", term.weight}, {"max_items", term.max_items}};
  });
}

Json FurtherVariants(const TaskInfo& task) {
  Json variants = Json::array();
  for (std::size_t i = 1; i < task.variants.size(); ++i) {
    const VariantInfo& variant = task.variants[i];
    variants.push_back({{"name", variant.name}, {"passes", Passes(variant)}, {"terms", Terms(variant)}});
  }
  return variants;
}

}  // namespace

Json TaskToJson(const TaskInfo& task, const PluginFile& file) {
  Json json;
  json["name"] = task.name;
  json["version"] = task.version;
  json["summary"] = task.summary;
  json["passes"] = Passes(task.variants.front());
  json["terms"] = Terms(task.variants.front());
  json["variants"] = FurtherVariants(task);
  json["constants"] = List(task.constants, [](const ConstantInfo& constant) {
    return Json{{"name", constant.name},
                {"rows", constant.rows},
                {"width", constant.width},
                {"dtype", constant.dtype}};
  });
  json["options"] = List(task.options, [](const OptionInfo& option) {
    Json json{{"name", option.name}};
    std::visit([&](const auto& value) { json["value"] = value; }, option.Default());
    if (option.kind == OptionKind::kNumber) json["low"] = option.low, json["high"] = option.high;
    if (option.kind == OptionKind::kWord) json["words"] = option.words;
    if (option.kind == OptionKind::kPath) json["path"] = option.required ? "required" : "optional";
    json["summary"] = option.summary;
    return json;
  });
  json["inputs"] = task.inputs;
  json["outputs"] = task.outputs;
  json["special_tokens"] = task.special_tokens;
  json["score"] = {{"name", task.score.name},
                   {"higher_is_better", task.score.higher_is_better},
                   {"chance", task.score.chance ? Json(*task.score.chance) : Json()}};
  json["rows_repeat"] = task.rows_repeat;
  json["plugin"] = file.path.string();
  json["build_id"] = file.build_id;
  return json;
}

}  // namespace medley
