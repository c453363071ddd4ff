#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace medley {

// The place where something stands in a file; counted from 1, columns in characters. Line 0: not from a file.
struct SourcePosition {
  int line = 0;
  int column = 0;
};

struct JsonMember;

// A JSON value that knows where it stands.
struct JsonNode {
  nlohmann::json::value_t type = nlohmann::json::value_t::null;
  SourcePosition at;
  nlohmann::json scalar;            // of null, booleans, numbers and strings
  std::vector<JsonMember> members;  // of an object, in the file's order, names unique
  std::vector<JsonNode> elements;   // of an array

  bool IsObject() const { return type == nlohmann::json::value_t::object; }
  bool IsArray() const { return type == nlohmann::json::value_t::array; }
  bool IsString() const { return type == nlohmann::json::value_t::string; }
  const JsonNode* Find(std::string_view key) const;
  JsonNode* Find(std::string_view key);
};

// A key of an object and its value.
struct JsonMember {
  std::string key;
  SourcePosition at;  // of the key
  JsonNode value;
};

// Something wrong with a text, and where.
struct JsonProblem {
  SourcePosition at;
  std::string path;  // "tasks.control.rows"; "" where it is the text itself
  std::string message;
};

// A text that was read, whose values know where they stand.
struct JsonDocument {
  bool parsed = false;  // false: no root, the last problem says why
  JsonNode root;
  std::vector<JsonProblem> problems;  // syntax, or keys that stand twice (the first one stays)
};

// What a text may cost: a value takes some 100 bytes once it is read, whatever it took to write.
struct JsonLimits {
  std::size_t bytes = std::size_t{64} << 20;
  std::size_t values = std::size_t{1} << 20;
};

// JSON as the standard has it: no comments, no trailing commas, no NaN; at most 64 levels deep. Takes time
// linear in the text, but for the logarithm of an object's keys.
JsonDocument ParseJson(std::string_view text, const JsonLimits& limits = {});

// "a.b": a step below a path.
std::string JoinPath(const std::string& path, std::string_view key);
// What was found, for messages: 12, true, "text" (shortened), an object, an array, null.
std::string Describe(const JsonNode& node);

}  // namespace medley
