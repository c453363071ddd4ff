#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include <medley/run/run.h>

namespace medley {

// What a profile's bytes depend on beside the task: the model, the tokenizer and the texts, what is trained,
// the versions of medley and libtorch, the device and its threads. No budget: bytes are no limits.
nlohmann::ordered_json RunProfileKey(const Run& run);
// And what they depend on in the task: its version, its plugin's build, variant, options, weights of terms.
nlohmann::ordered_json TaskProfileKey(const Run& run, const std::string& task);

}  // namespace medley
