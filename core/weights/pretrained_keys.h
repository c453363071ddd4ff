#pragma once

#include <medley/config/key_table.h>

namespace medley {

// Every top-level key of the config.json of a Qwen3, Qwen2 or Llama, as transformers 4.31 to 5.24 and tools
// around it write them.
KeyTable PretrainedKeys();
// The keys of its rope_parameters, or rope_scaling as it was called.
KeyTable RopeKeys();

}  // namespace medley
