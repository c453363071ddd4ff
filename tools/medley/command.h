#pragma once

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include <medley/base/error.h>

namespace medley {

// How the command may end, in the order of the numbers.
struct ExitMeaning {
  ExitCode code;
  std::string_view words;
};
std::vector<ExitMeaning> ExitMeanings();

// The command for other programs: {version, verbs: [{name, and as CommandLineJson}], exit_codes: [{code,
// meaning}]}. Asks every verb, so it opens libtorch.
nlohmann::ordered_json CommandJson();

}  // namespace medley
