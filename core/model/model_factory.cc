#include <medley/model/model_factory.h>

#include <medley/base/error.h>
#include <medley/model/agent/agent.h>
#include <medley/model/agent/agent_spec.h>

namespace medley {

std::unique_ptr<Model> MakeBuiltInModel(const ModelContext& context) {
  if (context.config.kind() == kAgentSpec.name) return std::make_unique<Agent>(context);
  throw Error("medley has no model '" + context.config.kind() + "' of its own");
}

}  // namespace medley
