#include <medley/config/field_reader.h>

#include <algorithm>
#include <cmath>

#include <medley/base/files.h>
#include <medley/base/suggest.h>
#include <medley/config/mode.h>

namespace medley {
namespace {

using nlohmann::json;

std::string Number(double value) {
  if (value == std::floor(value) && std::abs(value) <= kLargestInteger) {
    return std::to_string(static_cast<std::int64_t>(value));
  }
  return json(value).dump();
}

bool InBounds(double value, const Field& field) {
  return (field.above_low ? value > field.low : value >= field.low) &&
         (field.below_high ? value < field.high : value <= field.high);
}

// 1e3 and 2.0 are integers, as in JSON Schema. The number as it was written: as a double, 2^53 + 1 is 2^53.
bool IsExactInteger(const json& number) {
  constexpr auto kLargest = static_cast<std::int64_t>(kLargestInteger);
  if (number.is_number_unsigned()) return number.get<std::uint64_t>() <= kLargest;
  if (number.is_number_integer()) return number.get<std::int64_t>() >= -kLargest;
  if (!number.is_number()) return false;
  const auto value = number.get<double>();
  return value == std::floor(value) && std::abs(value) <= kLargestInteger;
}

std::string Numeric(const char* kind, const Field& field) {
  const std::string bounds = BoundsInWords(field);
  return std::string(kind) + (bounds.empty() ? "" : " " + bounds);
}

std::string BelowInWords(const json& value, const Field& field) {
  const bool is_below = value.is_number() && value.get<double>() < field.low;
  return is_below && !field.below.empty() ? " (" + std::string(field.below) + ")" : "";
}

std::string PathInWords(PathKind kind) {
  if (kind == PathKind::kEither) return "the path of a file or a directory";
  return kind == PathKind::kFile ? "the path of a file" : "the path of a directory";
}

std::string PathProblem(const std::filesystem::path& path, PathKind kind) {
  std::error_code ignored;
  const bool directory = kind == PathKind::kDirectory ||
                         (kind == PathKind::kEither && std::filesystem::is_directory(path, ignored));
  return directory ? DirectoryProblem(path) : FileProblem(path);
}

std::string Quoted(const std::vector<std::string_view>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += "\"" + std::string(words[i]) + "\"";
  }
  return text;
}

}  // namespace

std::string BoundsInWords(const Field& field) {
  if (field.low == field.high) return "equal to " + Number(field.low);
  std::string text;
  if (std::isfinite(field.low)) text = (field.above_low ? "above " : "of at least ") + Number(field.low);
  if (std::isfinite(field.high)) {
    if (!text.empty()) text += " and ";
    text += (field.below_high ? "below " : "at most ") + Number(field.high);
  }
  return text;
}

bool IsLabel(std::string_view text) {
  const auto is_good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_.-").find(c) != std::string_view::npos;
  };
  return !text.empty() && text.size() <= 64 && std::ranges::all_of(text, is_good);
}

FieldReader::FieldReader(ConfigFile& file, const JsonNode& object, std::string path)
    : file_(file), object_(object), path_(std::move(path)) {}

const JsonNode* FieldReader::Take(const Field& field) {
  known_.emplace_back(field.name);
  const JsonNode* node = object_.Find(field.name);
  if (!node && field.required) missing_.emplace_back(field.name, field.help);
  return node;
}

bool FieldReader::Expect(bool good, const JsonNode& node, const std::string& path,
                         const std::string& expected) {
  if (!good) file_.Fail(node.at, path, "expected " + expected + ", found " + Describe(node));
  return good;
}

bool FieldReader::ExpectObject(const JsonNode& node, const std::string& path) {
  if (!node.IsObject())
    file_.Fail(node.at, path,
               "expected an object, found " + Describe(node) + file_.MeantElsewhere(path, node));
  return node.IsObject();
}

void FieldReader::Constant(const Field& field, std::string_view value) {
  if (const JsonNode* node = Take(field)) ReadWord(*node, JoinPath(path_, field.name), {value});
}

bool FieldReader::IsComment(const JsonMember& member, const std::string& path) {
  if (member.key != kComment) return false;
  Expect(member.value.IsString(), member.value, JoinPath(path, member.key), "a text");
  return true;
}

std::vector<int> FieldReader::FindOneOf(const std::vector<std::string_view>& keys) {
  std::vector<int> found;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (object_.Find(keys[i]) != nullptr) found.push_back(static_cast<int>(i));
  }
  if (found.size() != 1)
    file_.Fail(object_.at, path_,
               "expected one of the keys " + Quoted(keys) + ", found " +
                   (found.empty() ? "none of them" : std::to_string(found.size()) + " of them"));
  return found;
}

int FieldReader::ReadChoice(const std::vector<std::string_view>& keys) {
  const std::vector<int> found = FindOneOf(keys);
  if (found.size() == 1) return found.front();
  known_.insert(known_.end(), keys.begin(), keys.end());
  one_of_ = found.empty();
  return -1;
}

JsonNode FieldReader::Nest(std::string_view first) {
  JsonNode nested{
      .type = json::value_t::object, .at = object_.at, .scalar = {}, .members = {}, .elements = {}};
  for (const JsonMember& member : object_.members) {
    if (IsComment(member, path_)) continue;
    known_.push_back(member.key);
    const std::vector<std::string> steps = SplitPath(member.key);
    const bool has_all = std::ranges::find(steps, "") == steps.end();
    if (steps.size() < 3 || steps.front() != first || !has_all) {
      file_.Fail(member.at, JoinPath(path_, member.key),
                 "expected a key such as \"" + std::string(first) + ".NAME.rows\"");
      continue;
    }
    if (!Expect(!member.value.IsObject() && !member.value.IsArray(), member.value,
                JoinPath(path_, member.key), "a single value"))
      continue;
    JsonNode* node = &nested;
    for (std::size_t i = 1; i < steps.size(); ++i) {
      JsonNode* below = node->Find(steps[i]);
      if (below == nullptr) {
        JsonNode made{
            .type = json::value_t::object, .at = member.at, .scalar = {}, .members = {}, .elements = {}};
        node->members.push_back({steps[i], member.at, std::move(made)});
        below = &node->members.back().value;
      }
      node = below;
    }
    *node = member.value;
  }
  return nested;
}

void FieldReader::Finish() {
  if (!one_of_) return;
  std::vector<std::string> candidates = known_;
  candidates.emplace_back(kComment);
  for (const JsonMember& member : object_.members) {
    if (IsComment(member, path_)) continue;
    if (std::ranges::find(known_, member.key) != known_.end()) continue;
    const std::string path = JoinPath(path_, member.key);
    const std::string meant = DidYouMean(member.key, candidates),
                      elsewhere = meant.empty() ? file_.MeantElsewhere(path, member.value) : "";
    file_.Fail(
        member.at, path,
        "unknown key" + (elsewhere.empty() ? meant + " (allowed: " + JoinNames(known_) + ")" : elsewhere));
  }
  for (const auto& [name, help] : missing_) {
    file_.Fail(object_.at, JoinPath(path_, name), "missing; it is required (" + help + ")");
  }
}

void FieldReader::Read(const JsonNode& node, const std::string& path, const Field&, bool& value) {
  if (Expect(node.scalar.is_boolean(), node, path, "true or false")) value = node.scalar.get<bool>();
}

void FieldReader::Read(const JsonNode& node, const std::string& path, const Field& field,
                       std::int64_t& value) {
  if (!field.zero.empty() && node.IsString() && node.scalar.get_ref<const std::string&>() == field.zero) {
    value = 0;
    return;
  }
  const double found = node.scalar.is_number() ? node.scalar.get<double>() : 0;
  const bool good = IsExactInteger(node.scalar) && InBounds(found, field);
  const std::string word = field.zero.empty() ? "" : ", or \"" + std::string(field.zero) + "\"";
  Field bounds = field;
  if (found >= kLargestInteger) bounds.high = std::min(field.high, kLargestInteger);
  if (Expect(good, node, path, Numeric("an integer", bounds) + word + BelowInWords(node.scalar, field))) {
    value = static_cast<std::int64_t>(found);
  }
}

void FieldReader::Read(const JsonNode& node, const std::string& path, const Field& field, double& value) {
  const bool number = node.scalar.is_number();
  const double found = number ? node.scalar.get<double>() : 0;
  if (Expect(number && InBounds(found, field), node, path, Numeric("a number", field))) value = found;
}

void FieldReader::Read(const JsonNode& node, const std::string& path, const Field& field,
                       std::string& value) {
  if (field.or_file && node.IsString() && node.scalar.get_ref<const std::string&>().ends_with(".json")) {
    value = file_.Resolve(node).string();
  } else if (!field.allowed.empty()) {
    const int word = ReadWord(node, path, field.allowed, field.or_file ? ", or the path of a NAME.json" : "");
    if (word >= 0) value = field.allowed[static_cast<std::size_t>(word)];
  } else if (field.or_number && node.scalar.is_number() && node.scalar.get<double>() > 0) {
    value = node.scalar.dump();
  } else if (field.is_share) {
    const bool good = node.IsString() && ParseRecomputedLayers(node.scalar.get_ref<const std::string&>());
    if (Expect(good, node, path,
               "a part of the layers such as \"14/28\", from \"0/1\" to \"1/1\" and of at most " +
                   std::to_string(RecomputedLayers::kMost)))
      value = node.scalar.get<std::string>();
  } else if (field.is_label) {
    const bool good = node.IsString() && IsLabel(node.scalar.get_ref<const std::string&>());
    if (Expect(good, node, path, "a name of 1 to 64 letters, digits, \"_\", \"-\" and \".\""))
      value = node.scalar.get<std::string>();
  } else if (field.may_be_empty) {
    if (Expect(node.IsString(), node, path, "a string")) value = node.scalar.get<std::string>();
  } else if (Expect(node.IsString() && !node.scalar.get_ref<const std::string&>().empty(), node, path,
                    field.or_number ? "a number above 0, or a string that is not empty"
                                    : "a string that is not empty")) {
    value = node.scalar.get<std::string>();
  }
}

void FieldReader::Read(const JsonNode& node, const std::string& path, const Field& field,
                       std::filesystem::path& value) {
  std::string text;
  const bool good = node.IsString() && !(text = node.scalar.get<std::string>()).empty() &&
                    text.find('\0') == std::string::npos;
  if (!Expect(good, node, path, PathInWords(field.path))) return;
  value = file_.Resolve(node);
  if (field.path == PathKind::kLater || file_.leaves_paths()) return;
  const std::string problem = PathProblem(value, field.path);
  if (!problem.empty()) file_.Fail(node.at, path, problem);
}

// Which of them it must be, and within which bounds, the task's spec says.
void FieldReader::Read(const JsonNode& node, const std::string& path, const Field&, OptionValue& value) {
  const json& found = node.scalar;
  if (!Expect(found.is_number() || found.is_boolean() || node.IsString(), node, path,
              "a number, true, false, or a string"))
    return;
  if (found.is_number()) value = found.get<double>();
  if (found.is_boolean()) value = found.get<bool>();
  if (node.IsString()) value = found.get<std::string>();
}

void FieldReader::Read(const JsonNode& node, const std::string& path, const Field& field,
                       NamesOrPattern& value) {
  if (!Expect(node.IsArray() || node.IsString(), node, path, "a text or an array")) return;
  if (!Expect(node.IsString() || !node.elements.empty(), node, path, "at least one element")) return;
  value = {};
  node.IsArray() ? Read(node, path, field, value.names) : Read(node, path, field, value.pattern);
}

void FieldReader::Read(const JsonNode& node, const std::string& path, const Field& field,
                       std::vector<std::pair<std::string, double>>& value) {
  if (!Expect(node.IsObject(), node, path, "an object")) return;
  value.clear();
  for (const JsonMember& member : node.members) {
    if (IsComment(member, path)) continue;
    value.emplace_back(member.key, 0.0);
    Read(member.value, JoinPath(path, member.key), field, value.back().second);
  }
}

int FieldReader::ReadWord(const JsonNode& node, const std::string& path,
                          const std::vector<std::string_view>& words, const std::string& or_else) {
  const std::string found = node.IsString() ? node.scalar.get<std::string>() : "";
  const auto word = std::ranges::find(words, found);
  if (node.IsString() && word != words.end()) return static_cast<int>(word - words.begin());
  const std::vector<std::string> candidates(words.begin(), words.end());
  file_.Fail(node.at, path,
             "expected " + Quoted(words) + or_else + ", found " + Describe(node) +
                 (node.IsString() ? DidYouMean(found, candidates) : ""));
  return -1;
}

}  // namespace medley
