#pragma once

#include <cstdint>
#include <string>
#include <string_view>

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
  // Of a field of that kind. An Error names the field and what the model has.
  std::int64_t Integer(std::string_view field) const;
  double Number(std::string_view field) const;
  bool Switch(std::string_view field) const;
  const std::string& Word(std::string_view field) const;

  // An integer counts as a number. The field must be there.
  void Set(std::string_view field, OptionValue value);

 private:
  const OptionValue& At(std::string_view field) const;
  template <typename T>
  const T& Held(std::string_view field, const char* kind) const;

  std::string kind_;
  OptionValues values_;
};

}  // namespace medley
