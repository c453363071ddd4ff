#include <medley/config/field_writer.h>

#include <algorithm>

namespace medley {

nlohmann::ordered_json SchemaWriter::Number(const Field& field, bool integer) {
  nlohmann::ordered_json schema = {{"type", integer ? "integer" : "number"}};
  const double low = integer ? std::max(field.low, -kLargestInteger) : field.low;
  const double high = integer ? std::min(field.high, kLargestInteger) : field.high;
  const auto bound = [](double value) -> nlohmann::ordered_json {
    if (value == std::floor(value) && std::abs(value) <= kLargestInteger)
      return static_cast<std::int64_t>(value);
    return value;
  };
  if (std::isfinite(low)) schema[field.above_low ? "exclusiveMinimum" : "minimum"] = bound(low);
  if (std::isfinite(high)) schema[field.below_high ? "exclusiveMaximum" : "maximum"] = bound(high);
  if (field.zero.empty()) return schema;
  return {{"anyOf", {schema, {{"enum", {std::string(field.zero)}}}}}};
}

nlohmann::ordered_json SchemaWriter::Map(nlohmann::ordered_json of) {
  return {{"type", "object"},
          {"properties", {{std::string(kComment), {{"type", "string"}}}}},
          {"additionalProperties", std::move(of)}};
}

nlohmann::ordered_json SchemaWriter::TextOrNumber() {
  return {{"anyOf", {{{"type", "string"}, {"minLength", 1}}, {{"type", "number"}, {"exclusiveMinimum", 0}}}}};
}

nlohmann::ordered_json SchemaWriter::WordsOrFile(nlohmann::ordered_json words) {
  return {{"anyOf", {std::move(words), {{"type", "string"}, {"pattern", "\\.json$"}}}}};
}

void FieldDumper::Flatten(const std::string& path, const nlohmann::ordered_json& value) {
  if (!value.is_object()) {
    json_[path] = value;
    return;
  }
  for (const auto& [key, below] : value.items()) Flatten(path + "." + key, below);
}

// Of the dotted keys of a map's structs: of its values, and of the values of maps among them.
void SchemaWriter::AddPatterns(const std::string& first, const nlohmann::ordered_json& of) {
  constexpr const char* kName = "\\.[^.]+";
  for (const auto& [key, schema] : of.at("properties").items()) {
    if (key == kComment) continue;
    const bool is_map = schema.contains("additionalProperties");
    nlohmann::ordered_json value = is_map ? schema.at("additionalProperties") : schema;
    value.erase("description");  // it tells what it means that the key is not there
    patterns_["^" + first + kName + "\\." + key + (is_map ? kName : "") + "$"] = std::move(value);
  }
}

void SchemaWriter::OneOf(const std::vector<std::string_view>& keys) {
  for (const std::string_view key : keys) one_of_.push_back({{"required", {std::string(key)}}});
}

nlohmann::ordered_json SchemaWriter::Finish() {
  properties_[std::string(kComment)] = {{"type", "string"}};
  nlohmann::ordered_json schema = {
      {"type", "object"}, {"additionalProperties", false}, {"properties", std::move(properties_)}};
  if (!patterns_.empty()) schema["patternProperties"] = std::move(patterns_);
  if (!required_.empty()) schema["required"] = std::move(required_);
  if (!one_of_.empty()) schema["oneOf"] = std::move(one_of_);
  return schema;
}

}  // namespace medley
