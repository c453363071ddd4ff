#include <medley/model/model_config.h>

#include <cmath>

#include <medley/base/error.h>
#include <medley/base/suggest.h>
#include <medley/model/model_info.h>

namespace medley {

ModelConfig::ModelConfig(const ModelInfo& info) : kind_(info.name) {
  for (const FieldInfo& field : info.fields) {
    OptionValue& value = values_[field.name];
    if (field.kind == FieldKind::kWord)
      value = field.words.front();
    else if (field.kind == FieldKind::kSwitch)
      value = field.value != 0;
    else
      value = field.value;
  }
}

const OptionValue& ModelConfig::At(std::string_view field) const {
  if (const auto found = values_.find(field); found != values_.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [name, value] : values_) names.push_back(name);
  throw Error("the model '" + kind_ + "' was asked for '" + std::string(field) +
              "': " + NoSuchName("field", field, names));
}

template <typename T>
const T& ModelConfig::Held(std::string_view field, const char* kind) const {
  if (const T* held = std::get_if<T>(&At(field))) return *held;
  throw Error("the field '" + std::string(field) + "' of the model '" + kind_ + "' is no " + kind);
}

std::int64_t ModelConfig::Integer(std::string_view field) const {
  const double held = Held<double>(field, "number");
  if (held != std::floor(held))
    throw Error("the field '" + std::string(field) + "' of the model '" + kind_ + "' is no integer");
  return static_cast<std::int64_t>(held);
}
double ModelConfig::Number(std::string_view field) const { return Held<double>(field, "number"); }
bool ModelConfig::Switch(std::string_view field) const { return Held<bool>(field, "switch"); }
const std::string& ModelConfig::Word(std::string_view field) const {
  return Held<std::string>(field, "word");
}

void ModelConfig::Set(std::string_view field, OptionValue value) {
  At(field);
  values_.find(field)->second = std::move(value);
}

}  // namespace medley
