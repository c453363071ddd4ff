#include <gtest/gtest.h>

#include <ATen/CPUGeneratorImpl.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/memory/product_workspace.h>
#include <medley/testing/checks.h>

#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "tests/model/agent_forward.h"
#include "tests/model/tower_fixture.h"
#include "tests/sweep.h"

namespace medley {
namespace {

enum class Trained {
  kAll,
  kAdapters,
  kDroppingAdapters,
  kProjectorAndLanguage,
  kNothingOfTower,
  kLanguageLayers
};

struct TowerForm {
  TowerKind kind;
  Activation activation;
  Trained trained;
};

AgentConfig ConfigOf(const TowerForm& form) {
  AgentConfig config = test::TowerAgentConfig(form.kind);
  config.language.hidden = 48;
  config.language.heads = 6;
  config.language.kv_heads = 3;
  config.language.head_dim = 12;
  config.language.ffn = 80;
  config.image.size = config.tower.size = 24;
  config.image.patch = config.tower.patch = 6;
  config.tower.width = 40;
  config.tower.heads = 5;
  config.tower.ffn = 72;
  config.tower.layers = 3;
  config.tower.activation = form.activation;
  config.encoder.ffn = config.decoder.ffn = 96;
  return config;
}

Adapters AdaptersFor(Trained trained) {
  LoraConfig lora;
  if (trained == Trained::kAdapters || trained == Trained::kDroppingAdapters)
    lora = {.rank = 4,
            .alpha = 8,
            .dropout = trained == Trained::kAdapters ? 0 : 0.1,
            .targets = {.names = {}, .pattern = kAllLinear}};
  return AdaptersOf(lora, nullptr);
}

void Rest(const Agent& agent, Trained trained) {
  if (trained != Trained::kProjectorAndLanguage && trained != Trained::kNothingOfTower &&
      trained != Trained::kLanguageLayers)
    return;
  for (const Parameter& parameter : agent.parameters()) {
    const bool is_tower = parameter.name.starts_with("vision_tower."),
               is_projector = parameter.name.starts_with("multi_modal_projector."),
               is_table = parameter.name.starts_with("model.embed_tokens.");
    parameter.tensor.set_requires_grad(!(is_tower ||
                                         (trained != Trained::kProjectorAndLanguage && is_projector) ||
                                         (trained == Trained::kLanguageLayers && is_table)));
  }
}

// Half of the rows have their pictures among the words.
ModelInputs TowerInputsOf(const AgentShape& shape) {
  const at::Generator generator = at::detail::createCPUGenerator(5);
  const std::int64_t a_row = shape.supervised / shape.rows;
  ModelInputs inputs;
  for (std::int64_t i = 0; i < shape.images; ++i) {
    inputs.push_back({"images", at::rand({shape.rows, 3, 24, 24}, generator), ""});
    inputs.back().tensor.set_requires_grad(shape.carried.contains(i));
  }
  std::vector<std::int64_t> learned;
  at::Tensor tokens = at::randint(7, 120, {shape.rows, shape.text_width}, generator, at::kLong);
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    for (std::int64_t i = a_row; i > 0; --i) learned.push_back((row + 1) * shape.text_width - i);
    if (row % 2 == 0) tokens[row].narrow(0, 0, shape.images).fill_(test::kPictureToken);
  }
  inputs.push_back({"tokens", tokens, ""});
  inputs.push_back({"lengths", at::full({shape.rows}, shape.text_width, at::kLong), ""});
  inputs.push_back({"supervised", at::tensor(learned, at::kLong), ""});
  return inputs;
}

check::ForwardBytes BytesOf(const Agent& agent, const AgentShape& shape) {
  WantedOutputs wanted;
  if (shape.supervised > 0 && shape.logits) wanted.push_back("logits");
  if (shape.losses) wanted.push_back("losses");
  if (shape.decodes_image) wanted.push_back("image");
  return check::MeasuredBytes(agent, TowerInputsOf(shape), wanted, test::ForwardOf(shape));
}

std::vector<TowerForm> TowerForms() {
  std::vector<TowerForm> forms;
  for (const Trained trained :
       {Trained::kAll, Trained::kAdapters, Trained::kDroppingAdapters, Trained::kProjectorAndLanguage,
        Trained::kNothingOfTower, Trained::kLanguageLayers}) {
    forms.push_back({TowerKind::kClip, Activation::kQuickGelu, trained});
    forms.push_back({TowerKind::kSiglip, Activation::kTanhGelu, trained});
  }
  return forms;
}

std::vector<AgentShape> Shapes() {
  return {
      AgentShape{.rows = 4, .images = 1, .text_width = 24, .supervised = 92},
      AgentShape{.rows = 1, .images = 1, .text_width = 10, .supervised = 4, .logits = false, .losses = true},
      AgentShape{.rows = 4, .images = 2, .text_width = 24, .supervised = 12, .decodes_image = true},
      AgentShape{.rows = 2, .images = 1, .text_width = 12, .decodes_image = true},
      AgentShape{.rows = 3, .images = 2, .text_width = 24, .supervised = 12, .carried = {1}},
      AgentShape{.rows = 5, .images = 0, .text_width = 40, .supervised = 60}};
}

double Ratio(std::int64_t a, std::int64_t b) { return static_cast<double>(a) / static_cast<double>(b); }

struct TowerFormShape {
  TowerForm form;
  at::ScalarType dtype;
  AgentShape shape;
};

template <typename Check>
void ForTowerShapes(bool with_graph, const Check& check) {
  InstallCpuAllocator();
  std::vector<TowerFormShape> all;
  for (const TowerForm& form : TowerForms()) {
    for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kBFloat16}) {
      for (AgentShape shape : Shapes()) {
        shape.with_graph = with_graph;
        all.push_back({form, dtype, shape});
      }
    }
  }
  for (const auto& [form, dtype, shape] :
       test::Slice(with_graph ? "TowerFootprintsOfGraphs" : "TowerFootprintsWithoutAGraph", all, 3)) {
    Agent agent(ConfigOf(form), test::LetterTokenizer(), /*seed=*/7, at::kCPU, nullptr,
                AdaptersFor(form.trained));
    agent.To(at::kCPU, dtype);
    Rest(agent, form.trained);
    SCOPED_TRACE(::testing::Message()
                 << (form.kind == TowerKind::kClip ? "clip" : "siglip") << ", trained "
                 << static_cast<int>(form.trained) << ", " << dtype << ", " << shape.rows << " rows, "
                 << shape.images << " images, width " << shape.text_width << ", " << shape.supervised
                 << " items, picture " << shape.decodes_image);
    check(check::FootprintBytes(agent, test::ForwardOf(shape)), BytesOf(agent, shape),
          WorkspaceOf(agent.parameters()).forward);
  }
}

TEST(TowerFootprint, OfAGraphIsNeverBelowAndHardlyAbove) {
  ForTowerShapes(/*with_graph=*/true, [](const check::ForwardBytes& estimated,
                                         const check::ForwardBytes& measured, std::int64_t) {
    EXPECT_GE(Ratio(estimated.held, measured.held), 1) << estimated.held << " and " << measured.held;
    // Words in front of layers without a gradient are counted until the end.
    EXPECT_LE(Ratio(estimated.held, measured.held), 1.08) << estimated.held << " and " << measured.held;
    EXPECT_GE(Ratio(estimated.peak, measured.peak), 1) << estimated.peak << " and " << measured.peak;
  });
}

TEST(TowerFootprint, WithoutAGraphIsNeverBelowThePeak) {
  ForTowerShapes(/*with_graph=*/false, [](const check::ForwardBytes& estimated,
                                          const check::ForwardBytes& measured, std::int64_t workspace) {
    EXPECT_GE(Ratio(estimated.peak, measured.peak), 1) << estimated.peak << " and " << measured.peak;
    EXPECT_LE(Ratio(estimated.peak - workspace, measured.peak), 1.8);
  });
}

// Keys and values of pictures among the words, too, wait for the tokens to come.
TEST(TowerFootprint, OfAReplyHoldsThePicturesPositions) {
  const AgentConfig config = ConfigOf({TowerKind::kSiglip, Activation::kTanhGelu, Trained::kAll});
  const Agent agent(config, test::LetterTokenizer(), /*seed=*/7);
  const auto held = [&](std::int64_t images, std::int64_t cached) {
    AgentShape shape{.rows = 2, .images = images, .text_width = 10, .with_graph = false};
    shape.cached = cached;
    std::int64_t bytes = 0;
    for (const ForwardPart& part : agent.Footprint(test::ForwardOf(shape))) bytes += part.kept;
    return bytes;
  };
  const std::int64_t a_position =
      2 * 2 * config.language.kv_heads * config.language.head_dim * config.language.layers * std::int64_t{4};
  for (const std::int64_t images : {0, 2})
    EXPECT_EQ(held(images, 30) - held(images, 0), (30 + agent.PrefixLength(images)) * a_position) << images;
}

}  // namespace
}  // namespace medley
