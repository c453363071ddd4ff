// What the blocks say that they cost, beside what is counted; the agent's are in footprint_test.cc.

#include <gtest/gtest.h>

#include <ATen/ATen.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/model/blocks/footprint.h>
#include <medley/testing/checks.h>
#include <medley/testing/training_context.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <string>
#include <vector>

namespace medley {
namespace {

constexpr std::int64_t kRows = 3, kPositions = 40, kContext = 24;

constexpr ModelSpec kStackSpec{.name = "stack",
                               .inputs = {{.name = "x"}, {.name = "context"}, {.name = "mask"}},
                               .outputs = {{.name = "x"}}};

// A stack of layers and nothing else.
class Stack final : public Model {
 public:
  explicit Stack(const TransformerLayer::Setting& setting)
      : Model(kStackSpec), setting_(setting), parameters_(1, at::kCPU) {
    for (int i = 0; i < 4; ++i) layers_.emplace_back(parameters_, "layers." + std::to_string(i), setting);
  }
  ModelOutputs Forward(const ModelInputs& inputs, const WantedOutputs&,
                       ForwardContext& context) const override {
    at::Tensor x = inputs[0].tensor;
    const TransformerLayer::Seen seen{.mask = inputs[2].tensor,
                                      .context = inputs[1].tensor,
                                      .context_mask = inputs[2].tensor.slice(3, 0, kContext)};
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const TransformerLayer::Drops drops = layers_[i].DropsOf(std::to_string(i), context);
      x = layers_[i](x, drops, seen);
    }
    return {{"x", x}};
  }
  const std::vector<Parameter>& parameters() const override { return parameters_.list(); }
  void To(at::Device device, at::ScalarType dtype) override { parameters_.To(device, dtype); }
  std::vector<ForwardPart> Footprint(const ForwardShape& shape) const override {
    std::vector<ForwardPart> parts;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      for (ForwardPart& part : medley::Footprint(setting_, "layers." + std::to_string(i), static_cast<int>(i),
                                                 {.rows = shape.rows,
                                                 .positions = kPositions,
                                                 .context = kContext,
                                                 .masked = true,
                                                 .with_graph = shape.with_graph}))
        parts.push_back(part);
    }
    InBytes(parts, parameters());
    return parts;
  }

 private:
  TransformerLayer::Setting setting_;
  ParameterSet parameters_;
  std::vector<TransformerLayer> layers_;
};

std::vector<TransformerLayer::Setting> Settings() {
  std::vector<TransformerLayer::Setting> settings;
  for (const AttentionKind kind : {AttentionKind::kFused, AttentionKind::kEager}) {
    for (const Activation activation : {Activation::kRelu, Activation::kGelu}) {
      for (const bool cross : {false, true}) {
        for (const double dropout : {0.0, 0.1})
          settings.push_back({.width = 24,
                              .heads = 3,
                              .ffn = 60,
                              .cross = cross,
                              .pre_norm = cross,
                              .activation = activation,
                              .attention = kind,
                              .dropout = dropout});
      }
    }
  }
  return settings;
}

std::string Words(const TransformerLayer::Setting& s) {
  return std::string(s.attention == AttentionKind::kEager ? "eager" : "fused") +
         (s.activation == Activation::kGelu ? ", gelu" : ", relu") + (s.cross ? ", cross" : "") +
         (s.dropout > 0 ? ", dropout" : "");
}

ModelInputs Inputs() {
  return {{"x", at::rand({kRows, kPositions, 24}), ""},
          {"context", at::rand({kRows, kContext, 24}), ""},
          {"mask", at::zeros({kRows, 1, 1, kPositions}), ""}};
}

TEST(BlockFootprint, OfLayersIsNeverBelowWhatIsCountedAndNear) {
  InstallCpuAllocator();
  for (const TransformerLayer::Setting& setting : Settings()) {
    const Stack stack(setting);
    for (const bool with_graph : {true, false}) {
      EXPECT_EQ(check::Footprint(stack, Inputs(), {"x"}, {.rows = kRows, .with_graph = with_graph}),
                check::Findings())
          << Words(setting);
    }
  }
}

TEST(BlockFootprint, OfTheBackwardToo) {
  InstallCpuAllocator();
  for (const TransformerLayer::Setting& setting : Settings()) {
    const Stack stack(setting);
    std::int64_t said = 0, kept = 0, gradients = 0;
    for (const ForwardPart& part : stack.Footprint({.rows = kRows})) {
      kept += part.kept;
      gradients += part.gradients;
      said = std::max(said, kept + part.backward);
    }
    const ModelInputs inputs = Inputs();
    ClearGradients(stack);
    const std::int64_t before = ReadCpuMemory().now;
    ResetCpuPeak();
    {
      check::TrainingContext context(0, kRows);
      torch::autograd::backward({stack.Forward(inputs, {"x"}, context).at("x").sum()});
    }
    const std::int64_t measured = ReadCpuMemory().peak - before;
    EXPECT_GE(said + gradients, measured) << Words(setting);
    EXPECT_LE(static_cast<double>(said), 1.35 * static_cast<double>(measured)) << Words(setting);
  }
}

}  // namespace
}  // namespace medley
