#pragma once

#include <medley/model/model_info.h>

#include "note_json.h"

namespace medley {

// A model of a plugin's note, by the rules of model/model_spec_check.h. Throws Rejection ("bad note").
ModelInfo ReadModel(const note::Json& model);

}  // namespace medley
