#include <medley/plugin/task_json.h>

#include "json_list.h"

namespace medley {
namespace {

using nlohmann::ordered_json;

ordered_json Passes(const VariantInfo& variant) {
  return JsonList(variant.passes, [](const PassInfo& pass) {
    return ordered_json{{"name", pass.name},       {"text_width", pass.text_width},
                        {"images", pass.images},   {"decodes_image", pass.decodes_image},
                        {"carries", pass.carries}, {"sizes", pass.sizes}};
  });
}

ordered_json Terms(const VariantInfo& variant) {
  return JsonList(variant.terms, [](const TermInfo& term) {
    ordered_json json{{"name", term.name}, {"weight", term.weight}, {"max_items", term.max_items}};
    if (term.stops_gradient) json["stops_gradient"] = true;
    if (term.counts_otherwise) json["counts_otherwise"] = true;
    return json;
  });
}

ordered_json FurtherVariants(const TaskInfo& task) {
  ordered_json variants = ordered_json::array();
  for (std::size_t i = 1; i < task.variants.size(); ++i) {
    const VariantInfo& variant = task.variants[i];
    variants.push_back({{"name", variant.name}, {"passes", Passes(variant)}, {"terms", Terms(variant)}});
  }
  return variants;
}

}  // namespace

ordered_json TaskToJson(const TaskInfo& task, const PluginFile& file) {
  ordered_json json;
  json["name"] = task.name;
  json["version"] = task.version;
  json["summary"] = task.summary;
  json["passes"] = Passes(task.variants.front());
  json["terms"] = Terms(task.variants.front());
  json["variants"] = FurtherVariants(task);
  json["constants"] = JsonList(task.constants, [](const ConstantInfo& constant) {
    return ordered_json{{"name", constant.name},
                        {"rows", constant.rows},
                        {"width", constant.width},
                        {"dtype", constant.dtype}};
  });
  json["options"] = JsonList(task.options, [](const OptionInfo& option) {
    ordered_json json{{"name", option.name}};
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
  const auto or_null = [](const std::optional<double>& value) {
    return value ? ordered_json(*value) : ordered_json();
  };
  json["score"] = {{"name", task.score.name},
                   {"higher_is_better", task.score.higher_is_better},
                   {"chance", or_null(task.score.chance)},
                   {"low", or_null(task.score.low)},
                   {"high", or_null(task.score.high)}};
  json["rows_repeat"] = task.rows_repeat;
  json["plugin"] = file.path.string();
  json["build_id"] = file.build_id;
  return json;
}

}  // namespace medley
