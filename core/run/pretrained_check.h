#pragma once

#include <optional>
#include <string>

#include <medley/config/config_file.h>
#include <medley/config/run_config.h>
#include <medley/plugin/model_file.h>
#include <medley/run/input_files.h>

namespace medley {

// Checks the Hugging Face folder that a run begins with: what lies in it beside config.json and weights, and
// whether its token table fits the vocabulary. Reports at the run config's keys. Returns words about the
// table; "" where no weights are published, or the model reads no text.
std::string CheckPretrained(ConfigFile& file, const RunConfig& run, const ModelFile& model,
                            const std::optional<Vocabulary>& vocabulary);

}  // namespace medley
