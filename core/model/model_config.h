#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <medley/config/option_value.h>
#include <medley/model/picture_rule.h>

namespace medley {

struct ModelInfo;

// The pictures that a model sees and draws.
struct ImageGeometry {
  std::int64_t size = 0;   // pixels a side
  std::int64_t patch = 0;  // pixels a side of one patch
  PictureRule rule{};      // for pictures of other sizes
};

// The values of a model's config file: every field of its spec.
class ModelConfig {
 public:
  // The defaults.
  explicit ModelConfig(const ModelInfo& info);

  const std::string& kind() const { return kind_; }
  // The value of a field of that kind. An Error names the field and what the model has.
  std::int64_t Integer(std::string_view field) const;
  double Number(std::string_view field) const;
  bool Switch(std::string_view field) const;
  const std::string& Word(std::string_view field) const;

  bool Has(std::string_view field) const { return values_.contains(field); }
  // The value of a field of any kind: an integer counts as a number. The field must be there.
  const OptionValue& At(std::string_view field) const;
  void Set(std::string_view field, OptionValue value);

  // The Hugging Face folder that its pretrained group comes from; "": none.
  const std::filesystem::path& pretrained() const { return pretrained_; }
  void SetPretrained(std::filesystem::path directory) { pretrained_ = std::move(directory); }
  // Keys of that folder's config.json that are not looked at, whatever they say.
  const std::vector<std::string>& ignored_keys() const { return ignored_keys_; }
  void SetIgnoredKeys(std::vector<std::string> keys) { ignored_keys_ = std::move(keys); }
  // The same of its tower.
  const std::filesystem::path& pretrained_tower() const { return pretrained_tower_; }
  void SetPretrainedTower(std::filesystem::path directory) { pretrained_tower_ = std::move(directory); }
  const std::vector<std::string>& tower_ignored_keys() const { return tower_ignored_keys_; }
  void SetTowerIgnoredKeys(std::vector<std::string> keys) { tower_ignored_keys_ = std::move(keys); }

 private:
  template <typename T>
  const T& Held(std::string_view field, const char* kind) const;

  std::string kind_;
  OptionValues values_;
  std::filesystem::path pretrained_;
  std::vector<std::string> ignored_keys_;
  std::filesystem::path pretrained_tower_;
  std::vector<std::string> tower_ignored_keys_;
};

}  // namespace medley
