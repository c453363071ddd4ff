#pragma once

#include <optional>
#include <string>

#include <medley/config/config_file.h>
#include <medley/config/lora_config.h>
#include <medley/config/run_config.h>
#include <medley/plugin/model_file.h>
#include <medley/run/input_files.h>

namespace medley {

// Fills in what the adapters are that a run begins with, from its folder of PEFT's; nothing where it has
// none. Reports what is wrong with the folder, and what the config says otherwise.
void TakePretrainedLora(ConfigFile& file, LoraConfig& lora);
// Whether it says all that adapters are.
bool IsWhole(const LoraConfig& lora);
// Reports a rank or targets that the model's language cannot have.
void CheckLoraFits(ConfigFile& file, const LoraConfig& lora, const ModelFile& model);

// Checks the Hugging Face folder that a run begins with: what lies in it beside config.json and weights, and
// whether its token table fits the vocabulary. Reports at the run config's keys. Returns words about the
// table; "" where no weights are published, or the model reads no text.
std::string CheckPretrained(ConfigFile& file, const RunConfig& run, const ModelFile& model,
                            const std::optional<Vocabulary>& vocabulary);

}  // namespace medley
