#pragma once

#include <array>

#include <medley/model/agent/agent_spec.h>
#include <medley/model/mlp_spec.h>

namespace medley {

// The models that no plugin brings. MakeModel makes them (plugin/model_maker.h).
inline constexpr std::array<const ModelSpec*, 2> kBuiltInModels = {&kAgentSpec, &kMlpSpec};

}  // namespace medley
