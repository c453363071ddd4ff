#pragma once

#include <medley/config/config_file.h>
#include <medley/config/lora_config.h>
#include <medley/plugin/model_file.h>

namespace medley {

// Fills in what the adapters are that a run begins with, from its folder of PEFT's; nothing where it has
// none. Reports what is wrong with the folder, and what the config says otherwise.
void TakePretrainedLora(ConfigFile& file, LoraConfig& lora);
// Whether it says all that adapters are.
bool IsWhole(const LoraConfig& lora);
// Reports a rank or targets that the model's language cannot have.
void CheckLoraFits(ConfigFile& file, const LoraConfig& lora, const ModelFile& model);

}  // namespace medley
