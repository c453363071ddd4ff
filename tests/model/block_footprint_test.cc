// What the blocks say that they cost, beside what is counted; the agent's are in footprint_test.cc.

#include <gtest/gtest.h>

#include <ATen/ATen.h>
#include <medley/base/random.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/model/blocks/footprint.h>
#include <medley/testing/checks.h>
#include <medley/testing/training_context.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/sweep.h"

namespace medley {
namespace {

constexpr std::int64_t kRows = 3;

struct Sizes {
  std::int64_t positions = 40, context = 24;
};

constexpr ModelSpec kStackSpec{
    .name = "stack",
    .inputs = {{.name = "x"}, {.name = "context"}, {.name = "mask"}, {.name = "context_mask"}},
    .outputs = {{.name = "x"}}};

// A stack of layers and nothing else.
class Stack final : public Model {
 public:
  explicit Stack(const TransformerLayer::Setting& setting, const Sizes& sizes = {})
      : Model(kStackSpec), setting_(setting), sizes_(sizes), parameters_(1, at::kCPU) {
    for (int i = 0; i < 4; ++i) layers_.emplace_back(parameters_, "layers." + std::to_string(i), setting);
  }
  ModelOutputs Forward(const ModelInputs& inputs, const WantedOutputs&,
                       ForwardContext& context) const override {
    at::Tensor x = inputs[0].tensor;
    const TransformerLayer::Seen seen{
        .mask = inputs[2].tensor, .context = inputs[1].tensor, .context_mask = inputs[3].tensor};
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
                                                 .positions = sizes_.positions,
                                                 .context = sizes_.context,
                                                 .masked = true,
                                                 .number_bytes = parameters().front().tensor.element_size(),
                                                 .with_graph = shape.with_graph}))
        parts.push_back(part);
    }
    InBytes(parts, parameters());
    return parts;
  }

 private:
  TransformerLayer::Setting setting_;
  Sizes sizes_;
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

ModelInputs Inputs(const Sizes& sizes = {}, std::int64_t width = 24, at::ScalarType dtype = at::kFloat) {
  return {{"x", at::rand({kRows, sizes.positions, width}).to(dtype), ""},
          {"context", at::rand({kRows, sizes.context, width}).to(dtype), ""},
          {"mask", at::zeros({kRows, 1, 1, sizes.positions}, dtype), ""},
          {"context_mask", at::zeros({kRows, 1, 1, sizes.context}, dtype), ""}};
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

// Where now the maps, now the attention is the widest: few positions that see many, inner maps that are
// narrow.
TEST(BlockFootprint, OfAnyLayerIsNeverBelowThePeak) {
  InstallCpuAllocator();
  for (const std::int64_t seed : test::SliceOfSteps("LayersOfAnyShape", 0, 60, 4)) {
    RowRandom random(CombineSeeds(7, static_cast<std::uint64_t>(seed)));
    const auto one_of = [&](const std::vector<std::int64_t>& values) {
      return values[static_cast<std::size_t>(random.Below(std::ssize(values)))];
    };
    const std::int64_t width = one_of({24, 60, 96});
    const TransformerLayer::Setting setting{
        .width = width,
        .heads = one_of({3, 12}),
        .ffn = one_of({8, width, 4 * width}),
        .cross = random.Below(2) == 0,
        .pre_norm = random.Below(2) == 0,
        .activation = random.Below(2) == 0 ? Activation::kRelu : Activation::kGelu,
        .attention = random.Below(2) == 0 ? AttentionKind::kFused : AttentionKind::kEager,
        .dropout = random.Below(3) == 0 ? 0.1 : 0.0};
    const Sizes sizes{one_of({9, 70, 210}), one_of({16, 64, 300})};
    const at::ScalarType dtype = random.Below(3) == 0 ? at::kFloat : at::kBFloat16;
    Stack stack(setting, sizes);
    stack.To(at::kCPU, dtype);
    for (const bool with_graph : {true, false}) {
      const ForwardShape shape{.rows = kRows, .with_graph = with_graph};
      EXPECT_GE(check::FootprintBytes(stack, shape).peak,
                check::MeasuredBytes(stack, Inputs(sizes, width, dtype), {"x"}, shape).peak)
          << Words(setting) << ", " << c10::toString(dtype) << ", width " << width << ", " << setting.heads
          << " heads, inner " << setting.ffn << ", " << sizes.positions << " positions, context "
          << sizes.context << (setting.pre_norm ? ", norm before" : "") << (with_graph ? "" : ", no graph");
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
