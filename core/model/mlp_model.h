#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <medley/model/model_spec.h>
#include <medley/model/parameter_model.h>

namespace medley {

// Dimensions behind the rows are numbers: {.name = "series", .dimensions = {"rows", "32"}}.
constexpr ModelSpec MlpSpec(std::string_view name, std::string_view summary,
                            const SpecList<TensorSpec, 12>& inputs, const SpecList<TensorSpec, 12>& outputs) {
  return {.name = name,
          .summary = summary,
          .fields = {IntegerField("width", 64, 1, 65536, "Width of a layer"),
                     IntegerField("layers", 2, 1, 1000, "Layers")},
          .inputs = inputs,
          .outputs = outputs};
}

// A multilayer perceptron over all numbers of its inputs, with ReLU, and a linear map to each output: what a
// task over tensors is first tried with. A plugin's class of it has a kSpec that MlpSpec makes, and a
// constructor.
class MlpModel : public ParameterModel {
 public:
  ModelOutputs Forward(const ModelInputs& inputs, const WantedOutputs& wanted,
                       ForwardContext& context) const final;
  std::vector<ForwardPart> Footprint(const ForwardShape& shape) const final;

 protected:
  // `spec`: the class's own kSpec. An Error names a dimension that is no number.
  MlpModel(const ModelSpec& spec, const ModelContext& context);

 private:
  struct Head {
    std::int64_t width = 0;
    std::vector<std::int64_t> sizes{};  // of a row
    Linear map{};
  };
  // [rows, numbers of a row]
  at::Tensor Flat(const ModelInputs& inputs) const;

  std::int64_t inputs_ = 0, width_ = 0;  // numbers of a row
  std::vector<Linear> layers_;
  std::map<std::string, Head, std::less<>> heads_;
};

}  // namespace medley
