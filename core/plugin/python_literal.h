#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "python_lexer.h"

namespace medley {

// A literal of Python with its place.
struct PythonValue {
  enum class Kind { kNone, kSwitch, kInteger, kFloat, kText, kList, kDict };
  Kind kind = Kind::kNone;
  int line = 0;
  bool on = false;
  std::int64_t integer = 0;
  double number = 0;
  std::string text{};
  std::vector<PythonValue> items{};  // of a list or a tuple; of a dict the values
  struct Key {
    std::string text;
    int line;
  };
  std::vector<Key> keys{};  // of a dict's items; they differ

  // "a text", "a list": what it is, for an error.
  std::string_view What() const;
  // Null where a dict has no such key.
  const PythonValue* Find(std::string_view key) const;
  // Tuples and lists are arrays.
  nlohmann::ordered_json ToJson() const;
};

// Reads the literal that begins with `first`, whose further tokens the lexer gives: what ast.literal_eval
// reads of texts, whole numbers of 64 bits, numbers, True, False, None, lists, tuples, and dicts whose keys
// are texts, at most 32 deep. Returns the token behind it. A PythonProblem says, with the line, what of it is
// no literal.
std::pair<PythonValue, PythonToken> ReadPythonLiteral(PythonLexer& lexer, const PythonToken& first);

// What a literal may be made of, for an error.
inline constexpr const char* kLiteralWords =
    "a spec is read without running the file, so it is a literal: texts, numbers, True, False, None, and "
    "lists, "
    "tuples and dicts of these";

}  // namespace medley
