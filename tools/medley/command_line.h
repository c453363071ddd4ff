#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace medley {

// What CLI11 knows of a verb's command line, for other programs: {summary, arguments: [{name, help, type,
// required, many, ...}], options: [{names, help, type, ...}], verbs: [the same, with name]}. Options without
// a type take no value; what is false or empty is left out.
nlohmann::ordered_json CommandLineJson(const CLI::App& app);

}  // namespace medley
