#pragma once

#include <medley/update/optimizer.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/step/executor_fixture.h"

namespace medley::testing_fixture {

inline constexpr double kRate = 1e-3;

inline OptimizerConfig Plain() {
  OptimizerConfig config;
  config.warmup_steps = 0;
  config.decay_fraction = 0;
  config.clip_norm = 0;
  return config;
}

// Parameters and nothing else.
class ListedModel : public FixtureModel {
 public:
  explicit ListedModel(std::vector<Parameter> list) : list_(std::move(list)) {}
  const std::vector<Parameter>& parameters() const override { return list_; }

 private:
  std::vector<Parameter> list_;
};

// Gradients that look random, set on every parameter.
inline void SetGradients(const Model& model, int step, double scale = 1) {
  for (const Parameter& parameter : model.parameters()) {
    at::Tensor tensor = parameter.tensor;
    tensor.mutable_grad() = Numbers(parameter.name + std::to_string(step), tensor.sizes(), scale)
                                .to(AtLeastFloat(tensor.scalar_type()));
  }
}

// Matrices of every kind: three hidden ones (wider than high, higher than wide, and kernels of a
// convolution), an embedding and a bias.
inline std::vector<Parameter> Matrices(at::ScalarType type = at::kDouble) {
  std::vector<Parameter> list;
  const auto add = [&](const std::string& name, at::IntArrayRef shape, bool hidden) {
    const at::Tensor values = Numbers(name, shape, 0.7).to(type).set_requires_grad(true);
    list.push_back({.name = name, .tensor = values, .hidden = hidden});
  };
  add("table", {13, 4}, false), add("wide", {4, 9}, true), add("tall", {11, 5}, true);
  add("kernels", {6, 3, 2, 2}, true), add("bias", {7}, false);
  return list;
}

inline OptimizerConfig WithMuon() {
  OptimizerConfig config = Plain();
  config.name = RuleName::kMuon;
  return config;
}

// Values by name, which later steps do not change.
inline std::map<std::string, at::Tensor> Copies(const std::vector<Parameter>& list) {
  std::map<std::string, at::Tensor> copies;
  for (const Parameter& parameter : list) copies[parameter.name] = parameter.tensor.detach().clone();
  return copies;
}

}  // namespace medley::testing_fixture
