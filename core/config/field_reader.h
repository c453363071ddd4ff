#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <medley/config/config_file.h>
#include <medley/config/field.h>
#include <medley/config/key_paths.h>
#include <medley/config/names_or_pattern.h>
#include <medley/config/option_value.h>

namespace medley {

// Fills a struct from an object of a config file. A value that is wrong leaves its member alone and is
// reported; reading goes on. Finish reports the keys that are unknown or missing.
class FieldReader {
 public:
  FieldReader(ConfigFile& file, const JsonNode& object, std::string path);

  template <typename T>
  void operator()(T& member, const Field& field) {
    if (const JsonNode* node = Take(field)) Read(*node, JoinPath(path_, field.name), field, member);
  }
  // One key of the enum's names must be there, and says which value it is. False, and reported, where that is
  // not so; then no other key is looked at.
  template <typename Enum>
  bool Choose(Enum& kind) {
    const auto& names = EnumNames<Enum>::kNames;
    const int number = ReadChoice({names.begin(), names.end()});
    if (number >= 0) kind = static_cast<Enum>(number);
    return number >= 0;
  }
  // The same of the alternatives of a variant, each with a kKey.
  template <typename... Kinds>
  bool Choose(std::variant<Kinds...>& kind) {
    const int number = ReadChoice({Kinds::kKey...});
    int tried = 0;
    ((tried++ == number ? static_cast<void>(kind.template emplace<Kinds>()) : static_cast<void>(0)), ...);
    return number >= 0;
  }
  // One of these fields must be there, and no other.
  void OneOf(const std::vector<std::string_view>& keys) { FindOneOf(keys); }
  // A map of structs whose values stand alone, each under a dotted key: "tasks.NAME.rows", and
  // "tasks.NAME.options.NAME" of a map in them. All keys of the object are such.
  template <typename T>
  void Dotted(std::map<std::string, T>& member, const Field& field) {
    const JsonNode nested = Nest(field.name);
    Read(nested, JoinPath(path_, field.name), field, member);
  }
  // A key that has one legal value.
  void Constant(const Field& field, std::string_view value);
  void Finish();

 private:
  const JsonNode* Take(const Field& field);
  // Reports one that is no text.
  bool IsComment(const JsonMember& member, const std::string& path);
  bool Expect(bool good, const JsonNode& node, const std::string& path, const std::string& expected);

  // The same, where a key may stand on the level of the object that has it.
  bool ExpectObject(const JsonNode& node, const std::string& path);

  void Read(const JsonNode& node, const std::string& path, const Field& field, bool& value);
  void Read(const JsonNode& node, const std::string& path, const Field& field, std::int64_t& value);
  void Read(const JsonNode& node, const std::string& path, const Field& field, double& value);
  void Read(const JsonNode& node, const std::string& path, const Field& field, std::string& value);
  void Read(const JsonNode& node, const std::string& path, const Field& field, std::filesystem::path& value);
  void Read(const JsonNode& node, const std::string& path, const Field& field, OptionValue& value);
  void Read(const JsonNode& node, const std::string& path, const Field& field, NamesOrPattern& value);
  void Read(const JsonNode& node, const std::string& path, const Field& field,
            std::vector<std::pair<std::string, double>>& value);
  // What the object's dotted keys mean, below their first word.
  JsonNode Nest(std::string_view first);
  // The numbers of these keys that are there; reported where it is not one.
  std::vector<int> FindOneOf(const std::vector<std::string_view>& keys);
  // The number of the only one of these keys that is there, or -1.
  int ReadChoice(const std::vector<std::string_view>& keys);
  // The word's number, or -1.
  int ReadWord(const JsonNode& node, const std::string& path, const std::vector<std::string_view>& words,
               const std::string& or_else = "");

  template <typename T>
  void Read(const JsonNode& node, const std::string& path, const Field& field, std::optional<T>& value) {
    Read(node, path, field, value.emplace());
  }
  template <typename T>
  void Read(const JsonNode& node, const std::string& path, const Field& field, std::vector<T>& value) {
    if (!Expect(node.IsArray(), node, path, "an array")) return;
    if (!Expect(!field.required || !node.elements.empty(), node, path, "at least one element")) return;
    value.clear();
    for (std::size_t i = 0; i < node.elements.size(); ++i) {
      Read(node.elements[i], JoinPath(path, std::to_string(i)), field, value.emplace_back());
    }
  }
  template <typename T>
  void Read(const JsonNode& node, const std::string& path, const Field& field,
            std::map<std::string, T, std::less<>>& value) {
    if (Expect(node.IsObject(), node, path, "an object")) ReadMembers(node, path, field, value);
  }
  template <typename T>
  void Read(const JsonNode& node, const std::string& path, const Field& field,
            std::map<std::string, T>& value) {
    if (Expect(node.IsObject(), node, path, "an object")) ReadMembers(node, path, field, value);
  }
  template <typename Map>
  void ReadMembers(const JsonNode& node, const std::string& path, const Field& field, Map& value) {
    value.clear();
    for (const JsonMember& member : node.members) {
      if (!IsComment(member, path)) Read(member.value, JoinPath(path, member.key), field, value[member.key]);
    }
  }
  // An enum, or a struct with Fields of its own.
  template <typename T>
  void Read(const JsonNode& node, const std::string& path, const Field&, T& value) {
    if constexpr (std::is_enum_v<T>) {
      const auto& names = EnumNames<T>::kNames;
      const int number = ReadWord(node, path, {names.begin(), names.end()});
      if (number >= 0) value = static_cast<T>(number);
    } else {
      if (!ExpectObject(node, path)) return;
      FieldReader reader(file_, node, path);
      Fields(reader, value);
      reader.Finish();
    }
  }

  ConfigFile& file_;
  const JsonNode& object_;
  std::string path_;
  std::vector<std::string> known_;
  std::vector<std::pair<std::string, std::string>> missing_;  // name, help
  bool one_of_ = true;                                        // of what Choose found, not several
};

// Reads a whole file into a struct; "$schema" is allowed beside its fields. `key_paths`: what it may have.
template <typename T>
void ReadFields(ConfigFile& file, T& value,
                const std::function<std::vector<std::string>()>& key_paths = KeyPathsOf<T>) {
  if (!file.root()) return;
  file.KnowKeys(key_paths);
  if (!file.root()->IsObject()) {
    return file.Fail(file.root()->at, "", "expected an object, found " + Describe(*file.root()));
  }
  FieldReader reader(file, *file.root(), "");
  std::string schema;
  reader(schema, {.name = "$schema", .help = "The JSON Schema, for editors"});
  Fields(reader, value);
  reader.Finish();
}

}  // namespace medley
