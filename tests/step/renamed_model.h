#pragma once

#include <string>
#include <vector>

#include "tests/step/executor_fixture.h"

namespace medley::testing_fixture {

// The fixture model of a medley that calls its parameters "model.encoder.weight" and so on.
class RenamedModel final : public FixtureModel {
 public:
  RenamedModel() { To(at::kCPU, at::kFloat); }
  const std::vector<Parameter>& parameters() const override { return renamed_; }
  void To(at::Device device, at::ScalarType dtype) override {
    FixtureModel::To(device, dtype);
    renamed_.clear();
    for (const Parameter& parameter : FixtureModel::parameters())
      renamed_.push_back({"model." + parameter.name, parameter.tensor, parameter.name});
  }

 private:
  std::vector<Parameter> renamed_;
};

}  // namespace medley::testing_fixture
