#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include <medley/config/config_file.h>
#include <medley/config/key_table.h>
#include <medley/model/model_config.h>
#include <medley/model/model_info.h>

namespace medley {

// The "kind" of a model file; "" where it says none, or is no file that can be read.
std::string KindOfModel(const ConfigFile& file);
// Reports every mistake to the file's diagnostics. `whose`: the keys of a pretrained folder.
ModelConfig ReadModelConfig(ConfigFile& file, const ModelInfo& info, KeysOf whose = KeysOf::kUser);
// The config with every default filled in. Reading it again gives the same.
nlohmann::ordered_json ToJson(const ModelConfig& config, const ModelInfo& info);
// The JSON Schema of its files.
nlohmann::ordered_json ModelSchema(const ModelInfo& info);

}  // namespace medley
