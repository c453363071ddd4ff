#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include <medley/base/durable_file.h>
#include <medley/base/json_text.h>
#include <medley/model/parameter_names.h>
#include <medley/weights/peft_weights.h>
#include <medley/weights/safetensors.h>

namespace medley {
namespace {

using nlohmann::ordered_json;

// The maps that have one, by their published names.
std::set<std::string> AdaptedMaps(const std::vector<Parameter>& parameters, const std::string& root) {
  std::set<std::string> maps;
  for (const Parameter& parameter : parameters) {
    const std::string& name = parameter.name;
    if (name.ends_with(kLoraA))
      maps.insert(name.substr(root.size(), name.size() - root.size() - std::string_view(kLoraA).size()));
  }
  return maps;
}

// Names, or ends of them. What a pattern stands for is written out: other software reads patterns in its own
// way.
ordered_json TargetsJson(const NamesOrPattern& targets, const std::set<std::string>& maps) {
  if (targets.pattern.empty()) return targets.names;
  if (targets.pattern != kAllLinear) return maps;
  std::set<std::string> ends;
  for (const std::string& map : maps) ends.insert(map.substr(map.rfind('.') + 1));
  return ends;
}

ordered_json TokensJson(const std::vector<std::int64_t>& tokens, bool has_head) {
  if (tokens.empty()) return nullptr;
  if (!has_head) return tokens;
  return {{"embed_tokens", tokens}, {"lm_head", tokens}};
}

// PEFT's is an integer.
ordered_json Whole(double value) {
  if (value != std::floor(value)) return value;
  return static_cast<std::int64_t>(value);
}

ordered_json ConfigJson(const std::vector<Parameter>& parameters, const Adapters& adapters,
                        const std::string& root, const std::string& base) {
  const LoraConfig& lora = adapters.lora;
  const bool has_head = std::any_of(parameters.begin(), parameters.end(), [&](const Parameter& parameter) {
    return parameter.name == root + "lm_head" + kRowChanges;
  });
  return {{"peft_type", "LORA"},
          {"task_type", "CAUSAL_LM"},
          {"base_model_name_or_path", base.empty() ? ordered_json() : ordered_json(base)},
          {"inference_mode", true},
          {"r", lora.rank},
          {"lora_alpha", Whole(lora.alpha)},
          {"lora_dropout", lora.dropout},
          {"use_rslora", lora.rslora},
          {"bias", "none"},
          {"target_modules", TargetsJson(lora.targets, AdaptedMaps(parameters, root))},
          {"trainable_token_indices", TokensJson(adapters.tokens, has_head)}};
}

}  // namespace

void WritePeft(const std::filesystem::path& directory, const std::vector<Parameter>& parameters,
               const Adapters& adapters, const std::string& root, const std::string& base) {
  const at::NoGradGuard no_grad;
  std::vector<Parameter> tensors;
  for (const Parameter& parameter : parameters) {
    if (!IsAdapter(parameter.name)) continue;
    at::Tensor values = parameter.tensor.detach().to(at::kFloat);
    if (parameter.name.ends_with(kRowChanges)) {
      const std::string_view table = std::string_view(parameter.name);
      const std::string weight =
          std::string(table.substr(0, table.size() - std::string_view(kRowChanges).size())) + ".weight";
      const at::Tensor ids = at::tensor(adapters.tokens, at::kLong).to(values.device());
      values = values + TensorNamed(parameters, weight).detach().index_select(0, ids).to(at::kFloat);
    }
    tensors.push_back({PeftName(parameter.name, root), values});
  }
  const std::map<std::string, std::string> metadata = {{"format", "pt"}};
  NewFile file(directory / kPeftWeightsFile, SafetensorsSize(tensors, metadata));
  WriteSafetensors(tensors, metadata, [&](const void* data, std::size_t size) { file.Write(data, size); });
  file.Commit();
  ReplaceFile(directory / kPeftConfigFile, JsonText(ConfigJson(parameters, adapters, root, base), 2) + "\n");
}

}  // namespace medley
