#pragma once

#include <ATen/core/Tensor.h>

#include <nlohmann/json.hpp>
#include <string>

#include <medley/config/run_config.h>
#include <medley/model/model.h>
#include <medley/plugin/task_host.h>
#include <medley/text/tokenizer.h>

namespace medley {

// What a profile's bytes depend on beside the task: the model, the tokenizer and the texts, what is trained,
// the versions of medley and libtorch, the device and its threads. No budget: bytes are no limits.
// `tokenizer` null: none was loaded. Reads the named files anew: a FileError where one cannot be read. On the
// CPU it may run small products: see WorkspaceOf.
// `build`: of the plugin that brings the model, "" for one of medley's own.
nlohmann::ordered_json RunProfileKey(const RunConfig& config, const Model& model, const std::string& build,
                                     const Tokenizer* tokenizer, at::Device device);
// And what they depend on in a form of a task: its version, its plugin's build, variant, options, weights of
// terms.
nlohmann::ordered_json TaskProfileKey(const TaskHost& host, const Form& form);

}  // namespace medley
