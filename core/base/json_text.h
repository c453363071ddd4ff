#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace medley {

// JSON as text; what a stranger's string has that is not UTF-8 becomes U+FFFD (nlohmann's own default throws,
// and then nothing would be written at all). `indent` below 0: one line.
template <typename Json>
std::string JsonText(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

}  // namespace medley
