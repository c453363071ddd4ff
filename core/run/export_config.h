#pragma once

#include <filesystem>
#include <string>

#include <medley/run/run.h>

namespace medley {

// Writes config.json, and generation_config.json where the model has a tokenizer, into the folder. What the
// published folder says that the run began with is kept; changed are the rows of the table, the type of the
// weights ("float32", "bfloat16"), and the tokens that end a text, of which the tokenizer's is one. Throws
// InputError where no part of the model is a language of transformers.
void WriteExportedConfigs(const Run& run, const std::filesystem::path& folder, const std::string& dtype);
// What to tell of it: ids of tokens stay as the published folder has them, where nothing says whether its
// tokens are the run's; "": nothing.
std::string WordsOfKeptIds(const Run& run);

}  // namespace medley
