#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <medley/model/blocks/language_config.h>

namespace medley {

// A linear map of a Language by its published name. No tensors here, so that configs can be checked without.
struct LinearMap {
  std::string name;
  std::int64_t in = 0, out = 0;
};
std::vector<LinearMap> LinearMapsOf(const LanguageConfig& config);

}  // namespace medley
