#pragma once

#include <medley/config/key_table.h>

namespace medley {

// Every top-level key of the config.json of a Qwen3, Qwen2 or Llama, as transformers 4.31 to 5.24 and tools
// around it write them.
KeyTable PretrainedKeys();
// The keys of its rope_parameters, or rope_scaling as it was called.
KeyTable RopeKeys();

// The config.json of a LLaVA, without what stands inside of its text_config and its vision_config.
KeyTable LlavaKeys();
// That of a CLIP or a SigLIP whole, of which only the vision_config is looked into.
KeyTable TwoTowersKeys();
// That of a CLIP's or a SigLIP's vision tower, or its vision_config.
KeyTable TowerKeys();
// A preprocessor_config.json.
KeyTable PreprocessorKeys();

}  // namespace medley
