#include <medley/model/mlp_model.h>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/testing/checks.h>
#include <medley/testing/made_model.h>
#include <medley/testing/training_context.h>

#include <string>

#include "tests/words.h"

namespace medley {
namespace {

class TwoHeads final : public MlpModel {
 public:
  static constexpr ModelSpec kSpec = MlpSpec(
      "two_heads", "",
      {{.name = "series", .dimensions = {"rows", "6", "2"}}, {.name = "more", .dimensions = {"rows"}}},
      {{.name = "values", .dimensions = {"rows", "2", "2"}},
       {.name = "logits", .dimensions = {"rows", "3"}}});
  explicit TwoHeads(const ModelContext& context) : MlpModel(kSpec, context) {}
};

class OneInput final : public MlpModel {
 public:
  static constexpr ModelSpec kSpec = MlpSpec("one_input", "", {{.name = "x", .dimensions = {"rows", "6"}}},
                                             {{.name = "y", .dimensions = {"rows", "5"}}});
  explicit OneInput(const ModelContext& context) : MlpModel(kSpec, context) {}
};

class OfFrames final : public MlpModel {
 public:
  static constexpr ModelSpec kSpec =
      MlpSpec("of_frames", "", {{.name = "x", .dimensions = {"rows", "frames"}}},
              {{.name = "y", .dimensions = {"rows", "5"}}});
  explicit OfFrames(const ModelContext& context) : MlpModel(kSpec, context) {}
};

at::Tensor Of(const Model& model, const std::string& name) {
  for (const Parameter& parameter : model.parameters()) {
    if (parameter.name == name) return parameter.tensor.detach();
  }
  throw Error("no parameter " + name);
}

TEST(MlpModel, IsLayersOverAllNumbersAndALinearMapToEachOutput) {
  const check::Made<TwoHeads> made({{"width", 8.0}, {"layers", 2.0}});
  const at::Tensor series = at::arange(36, at::kFloat).view({3, 6, 2}).div(36), more = at::arange(3);
  check::TrainingContext context(0, 3);
  const ModelOutputs outputs =
      made->Forward({{"more", more, ""}, {"series", series, ""}}, {"values", "logits"}, context);
  at::Tensor x = at::cat({series.flatten(1), more.view({3, 1}).to(at::kFloat)}, 1);
  for (const std::string layer : {"layers.0.", "layers.1."})
    x = at::linear(x, Of(*made, layer + "weight"), Of(*made, layer + "bias")).relu();
  EXPECT_TRUE(
      outputs.at("logits").allclose(at::linear(x, Of(*made, "logits.weight"), Of(*made, "logits.bias"))));
  EXPECT_TRUE(outputs.at("values").flatten(1).allclose(
      at::linear(x, Of(*made, "values.weight"), Of(*made, "values.bias"))));
  EXPECT_EQ(outputs.at("values").sizes(), at::IntArrayRef({3, 2, 2}));
  EXPECT_EQ(made->Forward({{"more", more, ""}, {"series", series, ""}}, {"logits"}, context).size(), 1U);
}

TEST(MlpModel, HiddenMatricesAreThoseBetweenLayers) {
  const check::Made<OneInput> made({{"layers", 3.0}});
  for (const Parameter& parameter : made->parameters()) {
    const bool is_between = parameter.name == "layers.1.weight" || parameter.name == "layers.2.weight";
    EXPECT_EQ(parameter.hidden, is_between) << parameter.name;
  }
}

TEST(MlpModel, TakesWhatItsFootprintSays) {
  InstallCpuAllocator();
  const check::Made<OneInput> one({{"width", 48.0}, {"layers", 3.0}});
  const check::Made<TwoHeads> two({{"width", 64.0}, {"layers", 1.0}});
  const at::Tensor x = at::ones({40, 6}), series = at::ones({40, 6, 2}), more = at::ones({40});
  for (const bool with_graph : {true, false}) {
    EXPECT_EQ(check::Footprint(*one, {{"x", x, ""}}, {"y"},
                               {.rows = 40, .outputs = {"y"}, .with_graph = with_graph}),
              check::Findings());
    const ModelInputs inputs{{"series", series, ""}, {"more", more, ""}};
    EXPECT_EQ(check::Footprint(*two, inputs, {"values", "logits"},
                               {.rows = 40, .outputs = {"values", "logits"}, .with_graph = with_graph}),
              check::Findings());
    EXPECT_EQ(check::Footprint(*two, inputs, {"logits"},
                               {.rows = 40, .outputs = {"logits"}, .with_graph = with_graph}),
              check::Findings());
  }
}

TEST(MlpModel, ADimensionThatIsNoNumberIsTold) {
  EXPECT_EQ(
      test::MessageOf([] { const check::Made<OfFrames> made; }),
      "the model 'of_frames' is an MLP, whose 'x' has numbers as dimensions behind its rows; its spec has "
      "'frames'");
}

}  // namespace
}  // namespace medley
