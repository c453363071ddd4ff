#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

namespace medley::test {

// 4.0 is an integer in draft 7; valijson does not know.
inline nlohmann::json WithPlainIntegers(nlohmann::json value) {
  if (value.is_structured()) {
    for (nlohmann::json& item : value) item = WithPlainIntegers(item);
  } else if (value.is_number_float()) {
    const double number = value.get<double>();
    if (number == std::floor(number) && std::abs(number) < 9e15) return static_cast<std::int64_t>(number);
  }
  return value;
}

// Whether a document follows a draft 7 schema; `mistakes`, if any, gets why not.
inline bool FollowsSchema(const nlohmann::json& schema_json, const nlohmann::json& exact,
                          valijson::ValidationResults* mistakes = nullptr) {
  const nlohmann::json document = WithPlainIntegers(exact);
  valijson::Schema schema;
  valijson::SchemaParser parser(valijson::SchemaParser::kDraft7);
  parser.populateSchema(valijson::adapters::NlohmannJsonAdapter(schema_json), schema);
  valijson::Validator validator;
  return validator.validate(schema, valijson::adapters::NlohmannJsonAdapter(document), mistakes);
}

// A line for each thing that does not follow it; "" where all does.
inline std::string SchemaMistakes(const nlohmann::json& schema, const nlohmann::json& document) {
  valijson::ValidationResults mistakes;
  if (FollowsSchema(schema, document, &mistakes)) return "";
  std::string words;
  for (const auto& mistake : mistakes) {
    for (const std::string& step : mistake.context) words += step;
    words += ": " + mistake.description + "\n";
  }
  return words;
}

}  // namespace medley::test
