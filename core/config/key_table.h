#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <medley/config/config_file.h>
#include <medley/config/field.h>

namespace medley {

// What an object that other software writes may have: every key stands in one of three lists.

enum class KeyType { kInteger, kNumber, kSwitch, kText, kArray, kObject };
template <>
struct EnumNames<KeyType> {
  static constexpr std::array<std::string_view, 6> kNames = {"a whole number", "a number", "true or false",
                                                             "a text",         "an array", "an object"};
};

struct ReadKey {
  std::string_view name;
  KeyType type = KeyType::kText;
  double low = 0, most = 0;  // of a number
  bool above_low = false;    // low itself is not allowed
  bool or_null = false;      // null says as much as leaving it out
  bool late = false;         // older medleys passed over what it says where it is wrong
};

// A key with which the object means something that medley does not have.
struct RefusedKey {
  std::string_view name;
  std::string_view neutral;   // a JSON array of the values that say nothing: "[false, null]"
  std::string_view why;       // the others are refused: "medley's ..."
  bool may_be_named = false;  // whether only the user knows: who names it as ignored takes it upon himself
};

// kBegunRun: of a run that goes on, which what only the table refuses must not end. Older medleys looked at
// the keys that they read, took null for the default, and 32.0 for 32.
enum class KeysOf { kUser, kBegunRun };

enum class KeyUse { kRead, kHarmless, kRefused };

struct KeyTable {
  std::span<const ReadKey> read;
  std::span<const std::string_view> harmless;  // whatever they say
  std::span<const RefusedKey> refused;
  std::string_view advice;  // what to do about a key of none of them

  std::optional<KeyUse> UseOf(std::string_view key) const;
  // Whether leaving it aside, whatever it says, is for the user to say.
  bool MayBeIgnored(std::string_view key) const;
};

// Reads such an object: a value is what the table says, or it is reported, and never a default.
class KeyReader {
 public:
  // Reports every key that is refused, unknown and not `ignored`, or of another type. `path`: to the object;
  // one that is not there, or null, has no keys.
  KeyReader(ConfigFile& file, std::vector<std::string> path, const KeyTable& table,
            const std::vector<std::string>& ignored = {}, KeysOf whose = KeysOf::kUser);

  // The value of a key that is read. Null where it is not there, null or wrong.
  const JsonNode* Find(std::string_view key) const;
  bool Has(std::string_view key) const { return Find(key) != nullptr; }
  // Whether it is there, whatever it says.
  bool IsThere(std::string_view key) const { return file_.Find(PathOf(key)) != nullptr; }
  bool IsNull(std::string_view key) const;
  std::optional<std::int64_t> Integer(std::string_view key) const;
  std::optional<double> Number(std::string_view key) const;
  bool Switch(std::string_view key, bool otherwise = false) const;
  std::string Text(std::string_view key, const std::string& otherwise) const;

  void Fail(std::string_view key, const std::string& message);

 private:
  void Look(const JsonMember& member, const KeyTable& table, const std::vector<std::string>& ignored);
  void Take(const JsonMember& member, const ReadKey& key);
  std::vector<std::string> PathOf(std::string_view key) const;

  ConfigFile& file_;
  std::vector<std::string> path_;
  KeysOf whose_;
  std::map<std::string_view, const JsonNode*> good_;
  int unknown_ = 0;
};

}  // namespace medley
