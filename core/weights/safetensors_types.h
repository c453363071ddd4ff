#pragma once

#include <c10/core/ScalarType.h>
#include <c10/util/ArrayRef.h>

#include <optional>
#include <string>
#include <string_view>

namespace medley {

// The name of an element type in a safetensors header; an Error for a type that the format lacks.
std::string SafetensorsTypeName(at::ScalarType type);
// nullopt for a name that we do not know.
std::optional<at::ScalarType> SafetensorsType(std::string_view name);
// "BF16 [64, 32]".
std::string TypeAndShape(at::ScalarType type, c10::IntArrayRef shape);
// Whether published weights and adapters may be of it: fp32, fp16, bf16.
bool IsWeightType(at::ScalarType type);

}  // namespace medley
