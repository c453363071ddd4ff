#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "python_literal.h"

namespace medley {

// What a file of Python says of itself, read and not run.
struct PythonSource {
  std::vector<PythonValue> specs;  // of its classes: `spec = {...}` directly in a class, in their order
  std::set<std::string> imports;   // modules by their whole names, wherever it imports them
};

// Throws a PythonProblem: for a `spec` of a class that is no literal of a dict, and for what PythonLexer
// throws.
PythonSource ReadPythonSource(std::string_view source);

// What it imports alone: of a file that need not be a plugin, and need not be whole. Never throws.
std::set<std::string> ImportsOf(std::string_view source);

}  // namespace medley
