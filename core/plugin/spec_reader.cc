#include "spec_reader.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/json_reader.h>
#include <medley/task/abi.h>
#include <medley/task/spec_check.h>

#include "rejection.h"

namespace medley {
namespace {

using Json = nlohmann::json;

constexpr int kMaxText = 4096;
constexpr std::int64_t kMaxInteger = 1 << 24;

[[noreturn]] void Bad(const std::string& what) {
  throw Rejection{"bad note", "its spec " + what + "; build it again with this medley"};
}

Json Parse(std::string_view text) {
  try {
    return ReadJson<Json>(text, "note");
  } catch (const InputError& error) {
    Bad("is not good JSON (" + Printable(error.what()) + ")");
  }
}

const Json& Field(const Json& object, const char* key) {
  if (!object.is_object())
    Bad(std::string("has something else where an object with '") + key + "' should be");
  const auto found = object.find(key);
  if (found == object.end()) Bad(std::string("lacks '") + key + "'");
  return *found;
}

std::string Text(const Json& object, const char* key) {
  const Json& value = Field(object, key);
  if (!value.is_string()) Bad(std::string("has no text in '") + key + "'");
  const auto& text = value.get_ref<const std::string&>();
  if (text.size() > kMaxText) Bad(std::string("has an endless text in '") + key + "'");
  return text;
}

std::string Name(const Json& object) {
  std::string name = Text(object, "name");
  if (!detail::IsName(name)) Bad("has the bad name '" + Printable(name.substr(0, 80)) + "'");
  return name;
}

bool Boolean(const Json& object, const char* key) {
  const Json& value = Field(object, key);
  if (!value.is_boolean()) Bad(std::string("has no true or false in '") + key + "'");
  return value.get<bool>();
}

int Integer(const Json& object, const char* key, std::int64_t low) {
  const Json& value = Field(object, key);
  if (!value.is_number_integer()) Bad(std::string("has no whole number in '") + key + "'");
  const auto number = value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX
                          ? INT64_MAX
                          : value.get<std::int64_t>();
  if (number < low || number > kMaxInteger) Bad(std::string("has ") + value.dump() + " in '" + key + "'");
  return static_cast<int>(number);
}

double Number(const Json& object, const char* key) {
  const Json& value = Field(object, key);
  if (!value.is_number()) Bad(std::string("has no number in '") + key + "'");
  return value.get<double>();
}

const Json& List(const Json& object, const char* key) {
  const Json& value = Field(object, key);
  if (!value.is_array()) Bad(std::string("has no list in '") + key + "'");
  return value;
}

std::vector<std::string> Texts(const Json& object, const char* key) {
  std::vector<std::string> texts;
  for (const Json& item : List(object, key)) {
    if (!item.is_string()) Bad(std::string("has something else than texts in '") + key + "'");
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

template <typename T, typename Fn>
std::vector<T> Items(const Json& object, const char* key, Fn read) {
  std::vector<T> items;
  for (const Json& item : List(object, key)) items.push_back(read(item));
  if (!detail::NamesDiffer(items)) Bad(std::string("has one name twice in '") + key + "'");
  return items;
}

VariantInfo ReadVariant(const Json& object, std::string name) {
  VariantInfo variant{.name = std::move(name), .passes = {}, .terms = {}};
  variant.passes = Items<PassInfo>(object, "passes", [](const Json& pass) {
    return PassInfo{Name(pass), Integer(pass, "text_width", 0), Texts(pass, "images"),
                    Boolean(pass, "decodes_image"), Texts(pass, "carries")};
  });
  variant.terms = Items<TermInfo>(object, "terms", [](const Json& term) {
    const double weight = Number(term, "weight");
    if (weight < 0) Bad("has a negative weight");
    return TermInfo{Name(term), weight, Integer(term, "max_items", 1)};
  });
  if (variant.passes.empty() || variant.terms.empty()) Bad("has no pass or no term");
  return variant;
}

std::vector<VariantInfo> ReadVariants(const Json& task) {
  std::vector<VariantInfo> variants = {ReadVariant(task, "default")};
  for (const Json& variant : List(task, "variants")) variants.push_back(ReadVariant(variant, Name(variant)));
  if (!detail::NamesDiffer(variants)) Bad("has one name twice in 'variants'");
  return variants;
}

ConstantInfo ReadConstant(const Json& constant) {
  ConstantInfo info{Name(constant), Integer(constant, "rows", 1), Integer(constant, "width", 1),
                    Text(constant, "dtype")};
  if (info.dtype != "int64" && info.dtype != "float32")
    Bad("has a constant that is neither int64 nor float32");
  return info;
}

OptionInfo ReadOption(const Json& option) {
  OptionInfo info{
      Name(option),           Number(option, "value"),    Number(option, "low"),
      Number(option, "high"), Text(option, "summary"),    static_cast<OptionKind>(Integer(option, "kind", 0)),
      Texts(option, "words"), Boolean(option, "required")};
  if (!(info.low <= info.value && info.value <= info.high))
    Bad("has an option whose value is out of its range");
  if (info.kind > OptionKind::kPath || (info.kind == OptionKind::kWord) == info.words.empty())
    Bad("has an option of a kind that is not known, or a word without words");
  return info;
}

ScoreInfo ReadScore(const Json& task) {
  const Json& score = Field(task, "score");
  ScoreInfo info{Text(score, "name"), Boolean(score, "higher_is_better"), std::nullopt};
  if (!Field(score, "chance").is_null()) info.chance = Number(score, "chance");
  return info;
}

TaskInfo ReadTask(const Json& task) {
  TaskInfo info;
  info.name = Name(task);
  info.version = Text(task, "version");
  info.summary = Text(task, "summary");
  info.variants = ReadVariants(task);
  info.constants = Items<ConstantInfo>(task, "constants", ReadConstant);
  info.options = Items<OptionInfo>(task, "options", ReadOption);
  info.inputs = Texts(task, "inputs");
  info.outputs = Texts(task, "outputs");
  info.special_tokens = Texts(task, "special_tokens");
  info.score = ReadScore(task);
  info.rows_repeat = Boolean(task, "rows_repeat");
  return info;
}

AbiInfo ReadAbi(const Json& note) {
  const Json& abi = Field(note, "abi");
  AbiInfo info;
  info.kind = Text(abi, "kind");
  info.api = Integer(abi, "api", 0);
  if (info.api != kPluginApi) return info;
  info.medley = Text(abi, "medley");
  info.headers = Text(abi, "headers");
  info.torch = Text(abi, "torch");
  info.cxx11 = Integer(abi, "cxx11", -1);
  info.standard_library = Text(abi, "standard_library");
  info.pointer = Integer(abi, "pointer", 0);
  info.glibcxx_debug = Boolean(abi, "glibcxx_debug");
  info.sanitizer = Text(abi, "sanitizer");
  info.compiler = Text(abi, "compiler");
  return info;
}

}  // namespace

std::string Printable(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      out += c;
    } else {
      out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

PluginNote ReadPluginNote(std::string_view json) {
  const Json note = Parse(json);
  PluginNote read{ReadAbi(note), {}};
  if (read.abi.api != kPluginApi) return read;
  read.tasks = Items<TaskInfo>(note, "tasks", ReadTask);
  if (read.tasks.empty()) Bad("has no task");
  return read;
}

}  // namespace medley
