#pragma once

#include <c10/core/ScalarType.h>

#include <optional>
#include <string>
#include <string_view>

namespace medley {

// The name of an element type in a safetensors header; an Error for a type that the format lacks.
std::string SafetensorsTypeName(at::ScalarType type);
// nullopt for a name that we do not know.
std::optional<at::ScalarType> SafetensorsType(std::string_view name);

}  // namespace medley
