#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <medley/config/field.h>
#include <medley/config/names_or_pattern.h>
#include <medley/config/option_value.h>

namespace medley {

namespace config_detail {
template <typename T>
struct IsVector : std::false_type {};
template <typename T>
struct IsVector<std::vector<T>> : std::true_type {};
template <typename T>
struct IsOptional : std::false_type {};
template <typename T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <typename T>
struct IsMap : std::false_type {};
template <typename V, typename C>
struct IsMap<std::map<std::string, V, C>> : std::true_type {};
using Weights = std::vector<std::pair<std::string, double>>;
}  // namespace config_detail

// The name of a struct that contains itself, specialized beside it: its schema stands once, in the file's
// "definitions", which who writes the file adds.
template <typename T>
inline constexpr std::string_view kDefinitionOf = {};

// A struct as JSON, every field with its value; what the reader reads back to the same struct.
class FieldDumper {
 public:
  template <typename T>
  void operator()(T& member, const Field& field) {
    const std::string name(field.name);
    if constexpr (config_detail::IsOptional<T>::value) {
      if (member) json_[name] = Dump(*member, field);
    } else {
      nlohmann::ordered_json value = Dump(member, field);
      if (field.omit_default && defaults_.is_object() && value == defaults_[name]) return;
      json_[name] = std::move(value);
    }
  }
  template <typename Enum>
  bool Choose(Enum&) {
    return true;
  }
  void OneOf(const std::vector<std::string_view>&) {}
  template <typename T>
  void Dotted(std::map<std::string, T>& member, const Field& field) {
    Flatten(std::string(field.name), Dump(member));
  }
  void Constant(const Field& field, std::string_view value) {
    json_[std::string(field.name)] = std::string(value);
  }

  template <typename T>
  static nlohmann::ordered_json Dump(const T& value, const Field& field) {
    if constexpr (std::is_same_v<T, std::int64_t>) {
      if (value == 0 && !field.zero.empty()) return std::string(field.zero);
    }
    return Dump(value);
  }

  template <typename T>
  static nlohmann::ordered_json Dump(const T& value) {
    using nlohmann::ordered_json;
    if constexpr (std::is_same_v<T, std::filesystem::path>) {
      return value.string();
    } else if constexpr (std::is_same_v<T, OptionValue>) {
      return std::visit([](const auto& held) { return ordered_json(held); }, value);
    } else if constexpr (std::is_same_v<T, NamesOrPattern>) {
      return value.pattern.empty() ? Dump(value.names) : Dump(value.pattern);
    } else if constexpr (std::is_enum_v<T>) {
      return EnumName(value);
    } else if constexpr (std::is_same_v<T, config_detail::Weights> || config_detail::IsMap<T>::value) {
      ordered_json object = ordered_json::object();
      for (const auto& [key, item] : value) object[key] = Dump(item);
      return object;
    } else if constexpr (config_detail::IsVector<T>::value) {
      ordered_json array = ordered_json::array();
      for (const auto& item : value) array.push_back(Dump(item));
      return array;
    } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
      return value;
    } else {
      FieldDumper defaults, dumper;
      T unset;
      Fields(defaults, unset);
      dumper.defaults_ = std::move(defaults.json_);
      T copy = value;  // Fields is written once, for members that may be filled
      Fields(dumper, copy);
      return std::move(dumper.json_);
    }
  }

 private:
  // The values of nested objects, each under its dotted key.
  void Flatten(const std::string& path, const nlohmann::ordered_json& value);

  nlohmann::ordered_json json_ = nlohmann::ordered_json::object();
  nlohmann::ordered_json defaults_;  // null while the defaults themselves are dumped
};

// The keys of a struct's fixed fields, "seed" and "tasks.zoom.rows": of a map those of the entries that it
// has.
class FixedFields {
 public:
  template <typename T>
  static std::vector<std::string> Of(T config) {
    FixedFields visitor;
    Fields(visitor, config);
    return std::move(visitor.keys_);
  }

  template <typename T>
  void operator()(T& member, const Field& field) {
    Visit(member, (path_.empty() ? "" : path_ + ".") + std::string(field.name), field.fixed);
  }

 private:
  template <typename T>
  void Visit(T& member, const std::string& path, bool fixed) {
    if (fixed) {
      keys_.push_back(path);
    } else if constexpr (config_detail::IsMap<T>::value) {
      for (auto& [key, item] : member) Visit(item, path + "." + key, false);
    } else if constexpr (requires(FixedFields & visitor) { Fields(visitor, member); }) {
      const std::string above = std::exchange(path_, path);
      Fields(*this, member);
      path_ = above;
    }
  }

  std::vector<std::string> keys_;
  std::string path_;  // of the struct that is visited
};

// The draft 7 schema of a struct: what the reader accepts, as far as one file's structure can say.
class SchemaWriter {
 public:
  template <typename T>
  void operator()(T& member, const Field& field) {
    nlohmann::ordered_json schema;
    if constexpr (requires(SchemaWriter & writer) { Fields(writer, member); } && kDefinitionOf<T>.empty()) {
      schema = Object(member);
    } else {
      schema = Schema<T>(field);
    }
    schema["description"] = std::string(field.help);
    if constexpr (!config_detail::IsOptional<T>::value) {
      if (!field.required && !field.omit_default) schema["default"] = FieldDumper::Dump(member, field);
    }
    properties_[std::string(field.name)] = std::move(schema);
    if (field.required) required_.push_back(std::string(field.name));
  }
  void Constant(const Field& field, std::string_view value) {
    properties_[std::string(field.name)] = {{"enum", {std::string(value)}},
                                            {"description", std::string(field.help)}};
    if (field.required) required_.push_back(std::string(field.name));
  }

  template <typename Enum>
  bool Choose(Enum&) {
    return true;
  }
  void OneOf(const std::vector<std::string_view>& keys);
  template <typename T>
  void Dotted(std::map<std::string, T>&, const Field& field) {
    AddPatterns(std::string(field.name), Object<T>());
  }

  // The schema of a struct; where its fields depend on its value, of those of this one.
  template <typename T>
  static nlohmann::ordered_json Object(T value = {}) {
    SchemaWriter writer;
    Fields(writer, value);
    return writer.Finish();
  }
  // The schema of a whole file.
  template <typename T>
  static nlohmann::ordered_json File(const std::string& title, const std::string& description,
                                     T defaults = {}) {
    SchemaWriter writer;
    writer.properties_["$schema"] = {{"type", "string"}, {"minLength", 1}};
    Fields(writer, defaults);
    nlohmann::ordered_json file = {{"$schema", "http://json-schema.org/draft-07/schema#"},
                                   {"title", title},
                                   {"description", description}};
    file.update(writer.Finish());
    return file;
  }

 private:
  template <typename T>
  static nlohmann::ordered_json Schema(const Field& field) {
    using nlohmann::ordered_json;
    if constexpr (std::is_same_v<T, OptionValue>) {
      return {{"type", {"number", "boolean", "string"}}};
    } else if constexpr (std::is_same_v<T, NamesOrPattern>) {
      ordered_json names = Schema<std::vector<std::string>>(field);
      names["minItems"] = 1;
      return {{"anyOf", {Schema<std::string>(field), std::move(names)}}};
    } else if constexpr (std::is_same_v<T, bool>) {
      return {{"type", "boolean"}};
    } else if constexpr (std::is_arithmetic_v<T>) {
      return Number(field, std::is_integral_v<T>);
    } else if constexpr (config_detail::IsOptional<T>::value) {
      return Schema<typename T::value_type>(field);
    } else if constexpr (!kDefinitionOf<T>.empty()) {
      return {{"allOf", {{{"$ref", "#/definitions/" + std::string(kDefinitionOf<T>)}}}}};
    } else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::filesystem::path>) {
      if (field.or_number) return TextOrNumber();
      if (field.is_share) return {{"type", "string"}, {"pattern", kSharePattern}};
      if (field.is_label) return {{"type", "string"}, {"pattern", kLabelPattern}};
      if (field.may_be_empty) return {{"type", "string"}};
      if (field.allowed.empty()) return {{"type", "string"}, {"minLength", 1}};
      if (field.or_file) return WordsOrFile(Words(field.allowed.begin(), field.allowed.end()));
      return Words(field.allowed.begin(), field.allowed.end());
    } else if constexpr (std::is_enum_v<T>) {
      return Words(EnumNames<T>::kNames.begin(), EnumNames<T>::kNames.end());
    } else if constexpr (std::is_same_v<T, config_detail::Weights>) {
      return Map(Schema<double>(field));
    } else if constexpr (config_detail::IsMap<T>::value) {
      return Map(Schema<typename T::mapped_type>(field));
    } else if constexpr (config_detail::IsVector<T>::value) {
      ordered_json array = {{"type", "array"}, {"items", Schema<typename T::value_type>(field)}};
      if (field.required) array["minItems"] = 1;
      return array;
    } else {
      return Object<T>();
    }
  }

  template <typename Iterator>
  static nlohmann::ordered_json Words(Iterator begin, Iterator end) {
    nlohmann::ordered_json words = nlohmann::ordered_json::array();
    for (; begin != end; ++begin) words.push_back(std::string(*begin));
    return {{"enum", std::move(words)}};
  }
  static nlohmann::ordered_json Map(nlohmann::ordered_json of);
  static nlohmann::ordered_json Number(const Field& field, bool integer);
  static nlohmann::ordered_json TextOrNumber();
  static nlohmann::ordered_json WordsOrFile(nlohmann::ordered_json words);
  void AddPatterns(const std::string& first, const nlohmann::ordered_json& of);
  nlohmann::ordered_json Finish();

  nlohmann::ordered_json properties_ = nlohmann::ordered_json::object();
  nlohmann::ordered_json required_ = nlohmann::ordered_json::array();
  nlohmann::ordered_json one_of_ = nlohmann::ordered_json::array();
  nlohmann::ordered_json patterns_ = nlohmann::ordered_json::object();  // of keys, by regular expression
};

}  // namespace medley
