#pragma once

#include <span>

#include <medley/model/model_spec.h>

namespace medley {

// The models that no plugin brings. MakeModel makes them (plugin/model_maker.h).
std::span<const ModelSpec* const> BuiltInModels();

}  // namespace medley
