#pragma once

#include <functional>
#include <map>
#include <string>
#include <variant>

namespace medley {

// What a config sets a task's option to: a number, a switch, or a word, a path or a text.
using OptionValue = std::variant<double, bool, std::string>;
using OptionValues = std::map<std::string, OptionValue, std::less<>>;

}  // namespace medley
