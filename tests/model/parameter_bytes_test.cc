#include <gtest/gtest.h>

#include <ATen/ATen.h>

#include <medley/model/parameter_bytes.h>

namespace medley {
namespace {

TEST(ParameterBytes, AreOfAllOfADeviceOfTheTrainedAndOfTheirGradients) {
  const std::vector<Parameter> parameters = {
      {"with_gradient", at::zeros({2, 3}).set_requires_grad(true)},
      {"without", at::zeros({5}, at::kDouble).set_requires_grad(true)},
      {"frozen", at::zeros({7})},
      {"elsewhere", at::zeros({11}, at::TensorOptions().device(at::kMeta)).set_requires_grad(true)}};
  parameters[0].tensor.mutable_grad() = at::ones({2, 3});
  EXPECT_EQ(ParameterBytes(parameters), 24 + 40 + 28 + 44);
  EXPECT_EQ(ParameterBytes(parameters, at::kCPU), 24 + 40 + 28);
  EXPECT_EQ(ParameterBytes(parameters, at::kMeta), 44);
  EXPECT_EQ(TrainedBytes(parameters), 24 + 40 + 44);
  EXPECT_EQ(GradientBytes(parameters), 24);
}

}  // namespace
}  // namespace medley
