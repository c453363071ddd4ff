#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

// Reads the fields of a plugin's note, which may be anybody's. What is missing or of another type is a
// Rejection ("bad note").
namespace medley::note {

using Json = nlohmann::json;

[[noreturn]] void Bad(const std::string& what);
Json Parse(std::string_view text);
const Json& Field(const Json& object, const std::string& key);
std::string Text(const Json& object, const std::string& key);
// Like a task's.
std::string Name(const Json& object, const std::string& key);
bool Boolean(const Json& object, const std::string& key);
int Integer(const Json& object, const std::string& key, double low);
double Number(const Json& object, const std::string& key, double low);
std::vector<std::string> Texts(const Json& object, const std::string& key);
const Json& List(const Json& object, const std::string& key);

}  // namespace medley::note
