#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

#include <medley/config/run_config.h>
#include <medley/plugin/registry.h>

namespace medley {

// The files that a run is made from, with their sums, by the key that names them: "model", "tokenizer",
// "tasks.NAME.options.OPTION". Of a file above 64 MiB, and of a folder with all below it, the sum is that of
// names, sizes and times. `pretrained`, the Hugging Face folder of the model ("": none), has two:
// "pretrained" is its config.json, and "pretrained_weights" what its index and the headers of its weights
// say.
nlohmann::ordered_json InputRecord(const RunConfig& config, const Registry& registry,
                                   const std::filesystem::path& pretrained = {});

// InputError where one of them is not what `before` says; what `before` does not name is left alone, and so
// are the weights file and pretrained weights: a run that has begun has its own.
void RequireSameInputs(const nlohmann::ordered_json& before, const nlohmann::ordered_json& now);

}  // namespace medley
