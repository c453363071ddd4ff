#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <medley/base/facts_read.h>
#include <medley/model/model_spec.h>

namespace medley {

// A model's spec as read from a plugin's note; what its fields mean stands in model_spec.h.
using FieldInfo = facts::ModelField<facts::Read>;
using GroupInfo = facts::ModelGroup<facts::Read>;
using RuleInfo = facts::ModelRule<facts::Read>;
using SizeInfo = facts::ModelSize<facts::Read>;
using TensorInfo = facts::Tensor<facts::Read>;

struct ModelInfo : facts::Model<facts::Read> {
  // Null where the model has none such.
  const FieldInfo* FindField(std::string_view field) const;
  std::vector<std::string> InputNames() const;
  std::vector<std::string> OutputNames() const;
};

// The info of a model that is part of medley.
ModelInfo InfoOf(const ModelSpec& spec);

}  // namespace medley
