#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include <medley/base/spec_names.h>

// Reads the fields of a plugin's note, which may be anybody's. What is missing or of another type is a
// Rejection ("bad note").
namespace medley::note {

using Json = nlohmann::json;

[[noreturn]] void Bad(const std::string& what);
Json Parse(std::string_view text);
const Json& Field(const Json& object, const char* key);
std::string Text(const Json& object, const char* key);
std::string Name(const Json& object);
bool Boolean(const Json& object, const char* key);
int Integer(const Json& object, const char* key, std::int64_t low);
double Number(const Json& object, const char* key);
const Json& List(const Json& object, const char* key);
std::vector<std::string> Texts(const Json& object, const char* key);

// A list of objects with names that differ, each read by `read`.
template <typename T, typename Fn>
std::vector<T> Items(const Json& object, const char* key, Fn read) {
  std::vector<T> items;
  for (const Json& item : List(object, key)) items.push_back(read(item));
  if (!detail::NamesDiffer(items)) Bad(std::string("has one name twice in '") + key + "'");
  return items;
}

}  // namespace medley::note
