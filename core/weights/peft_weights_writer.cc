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
#include <medley/weights/pretrained_files.h>
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
                        const std::string& root, const std::string& base,
                        const std::vector<std::int64_t>& tokens) {
  const LoraConfig& lora = adapters.lora;
  const bool has_head = TensorNamed(parameters, root + "lm_head.weight").defined();
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
          {"trainable_token_indices", TokensJson(tokens, has_head)}};
}

// Those that are trained and those that are filled, in order.
std::vector<std::int64_t> TokensOf(const Adapters& adapters, const std::vector<std::int64_t>& filled) {
  std::set<std::int64_t> tokens(adapters.tokens.begin(), adapters.tokens.end());
  tokens.insert(filled.begin(), filled.end());
  return {tokens.begin(), tokens.end()};
}

// A table's rows of the tokens, with their changes where there are any.
at::Tensor RowsOf(const at::Tensor& table, const std::vector<std::int64_t>& tokens, const at::Tensor& changes,
                  const std::vector<std::int64_t>& changed) {
  const at::Tensor ids = at::tensor(tokens, at::kLong).to(table.device());
  at::Tensor rows = table.detach().index_select(0, ids).to(at::kFloat);
  if (!changes.defined()) return rows;
  std::vector<std::int64_t> places;
  for (const std::int64_t token : changed)
    places.push_back(std::ranges::lower_bound(tokens, token) - tokens.begin());
  return rows.index_add_(0, at::tensor(places, at::kLong).to(table.device()),
                         changes.detach().to(at::kFloat));
}

}  // namespace

void WritePeft(const std::filesystem::path& directory, const std::vector<Parameter>& parameters,
               const Adapters& adapters, const std::string& root, const std::string& base,
               const std::vector<std::int64_t>& filled) {
  const at::NoGradGuard no_grad;
  const std::vector<std::int64_t> tokens = TokensOf(adapters, filled);
  std::vector<Parameter> tensors;
  for (const Parameter& parameter : parameters) {
    const std::string& name = parameter.name;
    const std::string changes = AdapterOf(name, kRowChanges);
    if (!tokens.empty() && IsTokenTable(PublishedName(name, root)))
      tensors.push_back({PeftName(changes, root), RowsOf(parameter.tensor, tokens,
                                                         TensorNamed(parameters, changes), adapters.tokens)});
    else if (IsAdapter(name) && !name.ends_with(kRowChanges))
      tensors.push_back({PeftName(name, root), parameter.tensor.detach().to(at::kFloat)});
  }
  const std::map<std::string, std::string> metadata = {{"format", "pt"}};
  NewFile file(directory / kPeftWeightsFile, SafetensorsSize(tensors, metadata));
  WriteSafetensors(tensors, metadata, [&](const void* data, std::size_t size) { file.Write(data, size); });
  file.Commit();
  ReplaceFile(directory / kPeftConfigFile,
              JsonText(ConfigJson(parameters, adapters, root, base, tokens), 2) + "\n");
}

}  // namespace medley
