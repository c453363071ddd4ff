#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace medley {

// As a script's text may hold it. Without "<" nothing in it ends the element, and nothing ("<!--<script")
// makes the parser look for its end elsewhere.
std::string InScript(const nlohmann::ordered_json& json);

}  // namespace medley
