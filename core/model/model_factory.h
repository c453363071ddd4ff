#pragma once

#include <memory>

#include <medley/model/model.h>
#include <medley/model/model_context.h>

namespace medley {

// One of BuiltInModels(), by the kind of its config.
std::unique_ptr<Model> MakeBuiltInModel(const ModelContext& context);

}  // namespace medley
