#include <medley/model/lora_targets.h>

#include <algorithm>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/printable.h>
#include <medley/base/suggest.h>
#include <medley/base/utf8.h>

namespace medley {

std::vector<LinearMap> LinearMapsOf(const LanguageConfig& config) {
  const std::int64_t queries = config.heads * config.head_dim, keys = config.kv_heads * config.head_dim;
  std::vector<LinearMap> maps;
  for (std::int64_t i = 0; i < config.layers; ++i) {
    const auto add = [&](const char* part, std::int64_t in, std::int64_t out) {
      maps.push_back({"model.layers." + std::to_string(i) + "." + part, in, out});
    };
    add("self_attn.q_proj", config.hidden, queries);
    add("self_attn.k_proj", config.hidden, keys);
    add("self_attn.v_proj", config.hidden, keys);
    add("self_attn.o_proj", queries, config.hidden);
    add("mlp.gate_proj", config.hidden, config.ffn);
    add("mlp.up_proj", config.hidden, config.ffn);
    add("mlp.down_proj", config.ffn, config.hidden);
  }
  return maps;
}

std::vector<LinearMap> LinearMapsOf(const TowerConfig& config, const std::string& root) {
  std::vector<LinearMap> maps;
  for (std::int64_t i = 0; config.any() && i < config.layers; ++i) {
    const std::string layer = root + "encoder.layers." + std::to_string(i) + ".";
    for (const char* part : {"q_proj", "k_proj", "v_proj", "out_proj"})
      maps.push_back({layer + "self_attn." + part, config.width, config.width});
    maps.push_back({layer + "mlp.fc1", config.width, config.ffn});
    maps.push_back({layer + "mlp.fc2", config.ffn, config.width});
  }
  return maps;
}

LoraTargets::LoraTargets(const LoraConfig& lora)
    : lora_(lora), unused_(lora.targets.names.begin(), lora.targets.names.end()) {
  const std::string& pattern = lora_.targets.pattern;
  if (pattern.empty()) return;
  unused_.insert(pattern);
  if (pattern != kAllLinear) pattern_.emplace(pattern);
}

bool LoraTargets::Matches(const std::string& name) {
  if (!lora_.targets.pattern.empty()) {
    const bool matches = !pattern_ || (*pattern_)(name);
    if (matches) unused_.clear();
    return matches;
  }
  bool any = false;
  for (const std::string& target : lora_.targets.names) {
    if (name != target && !name.ends_with("." + target)) continue;
    unused_.erase(target);
    any = true;
  }
  any_ = any_ || any;
  return any;
}

bool LoraTargets::Take(const std::string& name, std::int64_t in, std::int64_t out) {
  maps_.insert(name);
  if (!Matches(name)) return false;
  const std::int64_t side = std::min(in, out);
  if (lora_.rank > side && too_narrow_.empty())
    too_narrow_ = "expected at most " + std::to_string(side) + ", the smaller side of " + name + " (" +
                  std::to_string(out) + " x " + std::to_string(in) + "), found " + std::to_string(lora_.rank);
  return true;
}

std::map<std::string, std::string> LoraTargets::Problems() const {
  std::map<std::string, std::string> problems;
  if (!too_narrow_.empty()) problems["rank"] = too_narrow_;
  if (unused_.empty() || (any_ && !lora_.pretrained.empty())) return problems;
  std::vector<std::string> unused;
  for (const std::string& target : unused_) unused.push_back("'" + Printable(CutText(target, 64)) + "'");
  std::set<std::string> ends;
  for (const std::string& map : maps_) ends.insert(map.substr(map.rfind('.') + 1));
  problems["targets"] =
      JoinNames(unused) + " is no linear map of the model's language; it has " + Listed(ends) +
      (maps_.empty() ? "" : ", such as " + *maps_.begin()) +
      (lora_.pretrained.empty()
           ? ". A list has names or ends of names, a text is a regular expression for whole names"
           : ". The adapters of " + DisplayPath(lora_.pretrained) + " are for another model");
  return problems;
}

void LoraTargets::Check() const {
  std::vector<std::string> words;
  for (const auto& [key, problem] : Problems()) words.push_back("lora." + key + ": " + problem);
  if (!words.empty()) throw InputError(JoinNames(words, "\n"));
}

}  // namespace medley
