#pragma once

#include <vector>

#include <medley/model/model.h>
#include <medley/model/model_context.h>
#include <medley/model/parameter_set.h>

namespace medley {

// A model whose tensors are those of one set.
class ParameterModel : public Model {
 public:
  const std::vector<Parameter>& parameters() const final { return set_.list(); }
  void To(at::Device device, at::ScalarType dtype) override { set_.To(device, dtype); }

 protected:
  // `spec`: the class's own kSpec.
  ParameterModel(const ModelSpec& spec, const ModelContext& context)
      : Model(spec), set_(context.seed, context.device, {}, context.given, context.adapters) {}

  // What the parts of the model are built with; handles stay valid through To.
  ParameterSet& set() { return set_; }

 private:
  ParameterSet set_;
};

}  // namespace medley
