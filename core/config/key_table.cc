#include <medley/config/key_table.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include <medley/base/suggest.h>
#include <medley/base/utf8.h>

namespace medley {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestKey = 64;
constexpr int kMostSuggestions = 100;  // each takes a look at every name

bool IsNumber(const json& scalar, const ReadKey& key, KeysOf whose) {
  if (!scalar.is_number()) return false;
  const double number = scalar.get<double>();
  const bool is_whole =
      scalar.is_number_integer() || (whose == KeysOf::kBegunRun && number == std::floor(number));
  if (key.type == KeyType::kInteger && !is_whole) return false;
  return number <= key.most && (key.above_low ? number > key.low : number >= key.low);
}

bool IsGood(const JsonNode& value, const ReadKey& key, KeysOf whose) {
  if (key.type <= KeyType::kNumber) return IsNumber(value.scalar, key, whose);
  return key.type == KeyType::kSwitch  ? value.scalar.is_boolean()
         : key.type == KeyType::kText  ? value.IsString()
         : key.type == KeyType::kArray ? value.IsArray()
                                       : value.IsObject();
}

std::string Expected(const ReadKey& key) {
  const Field bounds{.low = key.low, .high = key.most, .above_low = key.above_low};
  return EnumName(key.type) + (key.type <= KeyType::kNumber ? " " + BoundsInWords(bounds) : "") +
         (key.or_null ? " or null" : "");
}

bool IsNullNode(const JsonNode& value) { return value.type == json::value_t::null; }

bool IsNeutral(const JsonNode& value, const RefusedKey& key) {
  const bool has_inside = !value.members.empty() || !value.elements.empty();
  json found = value.scalar;
  if (value.IsObject()) found = json::object();
  if (value.IsArray()) found = json::array();
  const json neutral = json::parse(key.neutral);
  return !has_inside && std::ranges::find(neutral, found) != neutral.end();
}

// "false or null"
std::string Neutral(const RefusedKey& key) {
  std::vector<std::string> values;
  for (const json& value : json::parse(key.neutral)) values.push_back(value.dump());
  return JoinNames(values, " or ");
}

std::vector<std::string> NamesIn(const KeyTable& table) {
  std::vector<std::string> names(table.harmless.begin(), table.harmless.end());
  for (const ReadKey& key : table.read) names.emplace_back(key.name);
  for (const RefusedKey& key : table.refused) names.emplace_back(key.name);
  return names;
}

}  // namespace

std::optional<KeyUse> KeyTable::UseOf(std::string_view key) const {
  if (std::ranges::find(read, key, &ReadKey::name) != read.end()) return KeyUse::kRead;
  if (std::ranges::find(harmless, key) != harmless.end()) return KeyUse::kHarmless;
  if (std::ranges::find(refused, key, &RefusedKey::name) != refused.end()) return KeyUse::kRefused;
  return std::nullopt;
}

bool KeyTable::MayBeIgnored(std::string_view key) const {
  const auto use = UseOf(key);
  if (use == KeyUse::kRefused) return std::ranges::find(refused, key, &RefusedKey::name)->may_be_named;
  return use != KeyUse::kRead;
}

KeyReader::KeyReader(ConfigFile& file, std::vector<std::string> path, const KeyTable& table,
                     const std::vector<std::string>& ignored, KeysOf whose)
    : file_(file), path_(std::move(path)), whose_(whose) {
  const JsonNode* object = file_.Find(path_);
  if (object == nullptr) return;
  for (const JsonMember& member : object->members) Look(member, table, ignored);
}

void KeyReader::Look(const JsonMember& member, const KeyTable& table,
                     const std::vector<std::string>& ignored) {
  if (const auto read = std::ranges::find(table.read, member.key, &ReadKey::name); read != table.read.end())
    return Take(member, *read);
  if (whose_ == KeysOf::kBegunRun || table.UseOf(member.key) == KeyUse::kHarmless) return;
  if (std::ranges::find(ignored, member.key) != ignored.end() && table.MayBeIgnored(member.key)) return;
  const std::string name = CutText(member.key, kLongestKey);
  std::string path;
  for (const std::string& step : path_) path = JoinPath(path, step);
  path = JoinPath(path, name);
  const auto refused = std::ranges::find(table.refused, member.key, &RefusedKey::name);
  if (refused == table.refused.end()) {
    const std::string meant = ++unknown_ > kMostSuggestions ? "" : DidYouMean(name, NamesIn(table));
    file_.Fail(
        member.at, path,
        "is no key that medley knows" + (meant.empty() ? "." : meant) + " " + std::string(table.advice));
    return;
  }
  if (IsNeutral(member.value, *refused)) return;
  file_.Fail(member.value.at, path,
             "is not supported: " + std::string(refused->why) + "; expected " + Neutral(*refused) +
                 ", found " + Describe(member.value));
}

void KeyReader::Take(const JsonMember& member, const ReadKey& key) {
  const bool is_of_begun = whose_ == KeysOf::kBegunRun;
  const bool may_be_null = key.or_null || is_of_begun;
  if (IsGood(member.value, key, whose_)) {
    good_.emplace(key.name, &member.value);
  } else if (!(may_be_null && IsNullNode(member.value)) && !(is_of_begun && key.late)) {
    Fail(key.name, "expected " + Expected(key) + ", found " + Describe(member.value));
  }
}

const JsonNode* KeyReader::Find(std::string_view key) const {
  const auto found = good_.find(key);
  return found == good_.end() ? nullptr : found->second;
}

bool KeyReader::IsNull(std::string_view key) const {
  const JsonNode* node = file_.Find(PathOf(key));
  return node != nullptr && IsNullNode(*node);
}

std::optional<std::int64_t> KeyReader::Integer(std::string_view key) const {
  const JsonNode* node = Find(key);
  return node == nullptr ? std::nullopt : std::optional(node->scalar.get<std::int64_t>());
}
std::optional<double> KeyReader::Number(std::string_view key) const {
  const JsonNode* node = Find(key);
  return node == nullptr ? std::nullopt : std::optional(node->scalar.get<double>());
}
bool KeyReader::Switch(std::string_view key, bool otherwise) const {
  const JsonNode* node = Find(key);
  return node == nullptr ? otherwise : node->scalar.get<bool>();
}
std::string KeyReader::Text(std::string_view key, const std::string& otherwise) const {
  const JsonNode* node = Find(key);
  return node == nullptr ? otherwise : node->scalar.get<std::string>();
}

void KeyReader::Fail(std::string_view key, const std::string& message) { file_.FailAt(PathOf(key), message); }

std::vector<std::string> KeyReader::PathOf(std::string_view key) const {
  std::vector<std::string> path = path_;
  if (!key.empty()) path.emplace_back(key);
  return path;
}

}  // namespace medley
