#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <medley/config/option_value.h>

namespace medley {

struct ModelInfo;

// The pictures that a model sees and draws.
struct ImageGeometry {
  std::int64_t size = 0;   // pixels a side
  std::int64_t patch = 0;  // pixels a side of one patch
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

  // The value of a field of any kind: an integer counts as a number. The field must be there.
  const OptionValue& At(std::string_view field) const;
  void Set(std::string_view field, OptionValue value);

  // The Hugging Face folder that its pretrained group comes from; "": none.
  const std::filesystem::path& pretrained() const { return pretrained_; }
  void SetPretrained(std::filesystem::path directory) { pretrained_ = std::move(directory); }
  // Keys of that folder's config.json that are not looked at, whatever they say.
  const std::vector<std::string>& ignored_keys() const { return ignored_keys_; }
  void SetIgnoredKeys(std::vector<std::string> keys) { ignored_keys_ = std::move(keys); }

 private:
  template <typename T>
  const T& Held(std::string_view field, const char* kind) const;

  std::string kind_;
  OptionValues values_;
  std::filesystem::path pretrained_;
  std::vector<std::string> ignored_keys_;
};

}  // namespace medley
