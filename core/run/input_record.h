#pragma once

#include <nlohmann/json.hpp>

#include <medley/config/run_config.h>
#include <medley/plugin/registry.h>

namespace medley {

// The files that a run is made from, with their sums, by the key that names them: "model", "tokenizer",
// "tasks.NAME.options.OPTION". Of a file above 64 MiB, and of a folder with all below it, the sum is that of
// names, sizes and times.
nlohmann::ordered_json InputRecord(const RunConfig& config, const Registry& registry);

// InputError where one of them, but for the weights file, is not what `before` says; what `before` does not
// name is left alone.
void RequireSameInputs(const nlohmann::ordered_json& before, const nlohmann::ordered_json& now);

}  // namespace medley
