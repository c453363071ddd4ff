#include <gtest/gtest.h>

#include <set>

#include "tests/model/agent_file.h"
#include "tests/model/agent_fixture.h"

namespace medley {
namespace {

struct Count {
  std::int64_t tensors = 0, elements = 0;
};

Count CountOf(const Model& model, const std::string& prefix) {
  Count count;
  for (const Parameter& parameter : model.parameters()) {
    if (!parameter.name.starts_with(prefix)) continue;
    ++count.tensors;
    count.elements += parameter.tensor.numel();
  }
  return count;
}

const std::string kModels = std::string(MEDLEY_SOURCE_DIR) + "/configs/models/";

// On the meta device: 685 million parameters take no memory.
TEST(ParameterCount, OfTheAgentWithQwen3IsThePublishedOne) {
  const Agent agent(test::ReadAgentConfig(kModels + "agent-qwen3-0.6b.json"), test::LetterTokenizer(), 1,
                    at::kMeta);
  const Model* model = &agent;
  const Count language = CountOf(*model, "model.");
  EXPECT_EQ(language.tensors, 310);
  EXPECT_EQ(language.elements, 596'049'920);
  EXPECT_EQ(CountOf(*model, "img_enc.").elements, 51'006'464);
  EXPECT_EQ(CountOf(*model, "img_dec.").elements, 38'405'123);
  EXPECT_EQ(CountOf(*model, "").elements, 685'461'507);  // without the original's 28 inert scales
  const auto shape = [&](const std::string& name) {
    for (const Parameter& parameter : model->parameters()) {
      if (parameter.name == "model." + name) return parameter.tensor.sizes().vec();
    }
    return std::vector<std::int64_t>{};
  };
  using Shape = std::vector<std::int64_t>;
  EXPECT_EQ(shape("embed_tokens.weight"), (Shape{151936, 1024}));
  EXPECT_EQ(shape("layers.27.self_attn.q_proj.weight"), (Shape{2048, 1024}));
  EXPECT_EQ(shape("layers.0.self_attn.k_proj.weight"), (Shape{1024, 1024}));
  EXPECT_EQ(shape("layers.0.self_attn.o_proj.weight"), (Shape{1024, 2048}));
  EXPECT_EQ(shape("layers.0.self_attn.q_norm.weight"), (Shape{128}));
  EXPECT_EQ(shape("layers.0.mlp.down_proj.weight"), (Shape{1024, 3072}));
  EXPECT_EQ(shape("layers.0.post_attention_layernorm.weight"), (Shape{1024}));
}

TEST(ParameterCount, NamesAreUnique) {
  const Agent agent(test::ReadAgentConfig(kModels + "agent-tiny.json"), test::LetterTokenizer(), 1);
  const Model* model = &agent;
  std::set<std::string> names;
  for (const Parameter& parameter : model->parameters()) {
    EXPECT_TRUE(names.insert(parameter.name).second) << parameter.name;
    EXPECT_TRUE(parameter.tensor.is_leaf() && parameter.tensor.requires_grad()) << parameter.name;
  }
}

TEST(ParameterCount, AnEncodingHasTheNormOfItsWidth) {
  const AgentConfig::Image geometry = test::ReadAgentConfig(kModels + "agent-qwen3-0.6b.json").image;
  EXPECT_EQ(geometry.size, 224);
  EXPECT_EQ(geometry.patch, 14);
  AgentConfig config = test::ReadAgentConfig(kModels + "agent-tiny.json");
  config.language.hidden = 1024;  // the published width: vectors of norm 32
  ParameterSet set(3, at::kCPU);
  const ImageEncoder encoder(set, config);
  ForwardContext context;
  at::NoGradGuard no_grad;
  const at::Tensor vectors = encoder(at::rand({1, 3, 128, 128}), context);
  EXPECT_EQ(vectors.sizes(), (at::IntArrayRef{1, 64, 1024}));
  EXPECT_NEAR(vectors.norm(2, -1).mean().item<double>(), 32, 0.1);
}

}  // namespace
}  // namespace medley
