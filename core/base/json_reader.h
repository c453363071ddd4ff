#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include <medley/base/json_document.h>

namespace medley {

// The one way in for JSON that medley did not just make itself (configs, whose values know where they stand,
// are a JsonDocument's): the same limits, and no key twice. `file` is for the words, as DisplayPath has it.
// Throws InputError "FILE:LINE:COLUMN: ...". `Json` is nlohmann's json or ordered_json.
template <typename Json = nlohmann::ordered_json>
Json ReadJson(std::string_view text, const std::string& file, const JsonLimits& limits = {});

// Whether ReadJson would read it: many times faster, as nothing is built and no place is known.
bool IsJson(std::string_view text, const JsonLimits& limits = {});

// Reads a line of a file of lines, which are counted from 1.
template <typename Json = nlohmann::ordered_json>
Json ReadJsonLine(std::string_view text, const std::string& file, int line);

}  // namespace medley
