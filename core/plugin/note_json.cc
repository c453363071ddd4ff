#include "note_json.h"

#include <cstdint>

#include <medley/base/error.h>
#include <medley/base/facts.h>
#include <medley/base/json_reader.h>
#include <medley/base/printable.h>
#include <medley/base/spec_names.h>

#include "rejection.h"

namespace medley {
namespace note {
namespace {

constexpr std::int64_t kMaxInteger = 1 << 24;

}  // namespace

void Bad(const std::string& what) {
  throw Rejection{"bad note", "its spec " + what + "; build it again with this medley"};
}

Json Parse(std::string_view text) {
  try {
    return ReadJson<Json>(text, "note");
  } catch (const InputError& error) {
    Bad("is not good JSON (" + Printable(error.what()) + ")");
  }
}

const Json& Field(const Json& object, const std::string& key) {
  if (!object.is_object()) Bad("has something else where an object with '" + key + "' should be");
  const auto found = object.find(key);
  if (found == object.end()) Bad("lacks '" + key + "'");
  return *found;
}

std::string Text(const Json& object, const std::string& key) {
  const Json& value = Field(object, key);
  if (!value.is_string()) Bad("has no text in '" + key + "'");
  const auto& text = value.get_ref<const std::string&>();
  if (text.size() > facts::kMostText) Bad("has an endless text in '" + key + "'");
  return text;
}

std::string Name(const Json& object, const std::string& key) {
  std::string name = Text(object, key);
  if (!detail::IsName(name)) Bad("has the bad name '" + Printable(name.substr(0, 80)) + "'");
  return name;
}

bool Boolean(const Json& object, const std::string& key) {
  const Json& value = Field(object, key);
  if (!value.is_boolean()) Bad("has no true or false in '" + key + "'");
  return value.get<bool>();
}

int Integer(const Json& object, const std::string& key, double low) {
  const Json& value = Field(object, key);
  if (!value.is_number_integer()) Bad("has no whole number in '" + key + "'");
  const auto number = value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX
                          ? INT64_MAX
                          : value.get<std::int64_t>();
  if (static_cast<double>(number) < low || number < -kMaxInteger || number > kMaxInteger)
    Bad("has " + value.dump() + " in '" + key + "'");
  return static_cast<int>(number);
}

double Number(const Json& object, const std::string& key, double low) {
  const Json& value = Field(object, key);
  if (!value.is_number()) Bad("has no number in '" + key + "'");
  const auto number = value.get<double>();
  if (number < low) Bad("has " + value.dump() + " in '" + key + "'");
  return number;
}

const Json& List(const Json& object, const std::string& key) {
  const Json& value = Field(object, key);
  if (!value.is_array()) Bad("has no list in '" + key + "'");
  return value;
}

std::vector<std::string> Texts(const Json& object, const std::string& key) {
  std::vector<std::string> texts;
  for (const Json& item : List(object, key)) {
    if (!item.is_string()) Bad("has something else than texts in '" + key + "'");
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

}  // namespace note

}  // namespace medley
