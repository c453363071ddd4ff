#include <medley/plugin/model_maker.h>

#include <medley/base/error.h>
#include <medley/base/random.h>
#include <medley/model/agent/agent.h>
#include <medley/model/agent/agent_spec.h>
#include <medley/model/mlp_model.h>
#include <medley/model/mlp_spec.h>
#include <medley/model/model_context.h>

#include "plugin_call.h"
#include "plugin_library.h"

namespace medley {
namespace {

class OwnMlp final : public MlpModel {
 public:
  explicit OwnMlp(const ModelContext& context) : MlpModel(kMlpSpec, context) {}
};

// One of kBuiltInModels, by the kind of its config.
std::unique_ptr<Model> MakeBuiltInModel(const ModelContext& context) {
  if (context.config.kind() == kAgentSpec.name) return std::make_unique<Agent>(context);
  if (context.config.kind() == kMlpSpec.name) return std::make_unique<OwnMlp>(context);
  throw Error("medley has no model '" + context.config.kind() + "' of its own");
}

std::size_t ModelIndex(const PluginFile& file, const std::string& model) {
  std::size_t index = 0;
  while (file.models[index].name != model) ++index;
  return index;
}

std::unique_ptr<Model> MakeOfPlugin(const PluginFile& file, const ModelContext& context) {
  const std::string& name = context.config.kind();
  const std::string plugin = file.path.stem().string();
  const PluginLibrary& library = *CallPlugin(plugin, "model " + name, "loading " + file.path.string(), [&] {
    const GlobalStateGuard guard(HashName(plugin));
    return &PluginLibrary::Load(file);
  });
  const GlobalStateGuard guard(HashName(name));
  return CallPlugin(plugin, "model " + name, "making the model",
                    [&] { return library.MakeModel(ModelIndex(file, name), context); });
}

// What everybody relies on who saves, moves or updates parameters.
void Check(const Model& model, const ModelContext& context) {
  const std::string who = "the model '" + context.config.kind() + "' ";
  if (model.spec().name != context.config.kind())
    throw Error(who + "hands the spec of '" + std::string(model.spec().name) +
                "' to Model; hand it its own kSpec");
  std::set<std::string> names;
  bool adapted = false;
  for (const Parameter& parameter : model.parameters()) {
    const std::string& name = parameter.name;
    const at::Tensor& tensor = parameter.tensor;
    adapted = adapted || name.ends_with(kLoraA);
    if (!names.insert(name).second)
      throw Error(who + "has two parameters '" + name + "'; give each its own name");
    if (!tensor.defined() || !tensor.is_leaf())
      throw Error(who + "has a parameter '" + name + "' that is no leaf; make it with a ParameterSet");
    if (tensor.device().type() != context.device.type())
      throw Error(who + "has the parameter '" + name + "' on " + tensor.device().str() + ", it is made for " +
                  context.device.str() + "; make parameters with a ParameterSet of the context's device");
  }
  if (context.adapters.any() && !adapted)
    throw InputError("lora: the model '" + context.config.kind() +
                     "' has no language whose linear maps could get adapters; leave it out");
}

}  // namespace

std::unique_ptr<Model> MakeModel(const ModelFile& file, const Registry& registry, const Tokenizer* tokenizer,
                                 std::uint64_t seed, at::Device device, const std::set<std::string>* given,
                                 const LoraConfig& lora, at::ScalarType base) {
  const ModelContext context(file.config, seed, device, file.info.tokenizer ? tokenizer : nullptr, given,
                             lora, base);
  const PluginFile* plugin = registry.FileOfModel(file.info.name);
  std::unique_ptr<Model> model =
      plugin == nullptr ? MakeBuiltInModel(context) : MakeOfPlugin(*plugin, context);
  Check(*model, context);
  return model;
}

}  // namespace medley
