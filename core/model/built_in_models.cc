#include <medley/model/built_in_models.h>

#include <array>

#include <medley/model/agent/agent_spec.h>

namespace medley {

std::span<const ModelSpec* const> BuiltInModels() {
  static constexpr std::array<const ModelSpec*, 1> kModels = {&kAgentSpec};
  return kModels;
}

}  // namespace medley
