#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <medley/base/full_match.h>
#include <medley/config/lora_config.h>
#include <medley/model/blocks/language_config.h>
#include <medley/model/blocks/tower_config.h>

namespace medley {

// A linear map of a Language by its published name. No tensors here, so that configs can be checked without.
struct LinearMap {
  std::string name;
  std::int64_t in = 0, out = 0;
};
std::vector<LinearMap> LinearMapsOf(const LanguageConfig& config);
// Those of a VisionTower, with `root` in front; none of one without a kind.
std::vector<LinearMap> LinearMapsOf(const TowerConfig& config, const std::string& root);

// Which of a language's linear maps get an adapter, as PEFT's target_modules says: names or the ends of names
// behind a dot, a regular expression for whole names, or kAllLinear. Names are the published ones
// ("model.layers.0.self_attn.q_proj"). Notes what it was asked for.
class LoraTargets {
 public:
  explicit LoraTargets(const LoraConfig& lora);

  // A map `in` to `out` wide.
  bool Take(const std::string& name, std::int64_t in, std::int64_t out);
  // What is wrong, once all maps were asked for, by key of the config: a rank above the smaller side of one,
  // targets that name none; where adapters are PEFT's, which takes such names beside others, if all do.
  std::map<std::string, std::string> Problems() const;
  // Throws them as one InputError.
  void Check() const;

 private:
  bool Matches(const std::string& name);

  LoraConfig lora_;
  std::optional<FullMatch> pattern_;
  std::set<std::string> unused_, maps_;
  std::string too_narrow_;
  bool any_ = false;  // of the names was of a map
};

}  // namespace medley
