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

nlohmann::ordered_json SchemaWriter::TextOrNumber() {
  return {{"anyOf", {{{"type", "string"}, {"minLength", 1}}, {{"type", "number"}, {"exclusiveMinimum", 0}}}}};
}

nlohmann::ordered_json SchemaWriter::Finish() {
  nlohmann::ordered_json schema = {
      {"type", "object"}, {"additionalProperties", false}, {"properties", std::move(properties_)}};
  if (!required_.empty()) schema["required"] = std::move(required_);
  return schema;
}

}  // namespace medley
