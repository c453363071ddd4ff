#pragma once

#include <span>

#include <medley/model/model_spec.h>

namespace medley {

// The models that no plugin brings. libmedley makes them (see model_factory.h).
std::span<const ModelSpec* const> BuiltInModels();

}  // namespace medley
