// Adapters of the agent's language: what they are, and that a model with them is the model without at first.

#include <gtest/gtest.h>

#include <ATen/CPUGeneratorImpl.h>
#include <medley/base/error.h>
#include <medley/model/lora_targets.h>
#include <medley/model/parameter_names.h>
#include <medley/testing/training_context.h>
#include <medley/weights/adapter_merge.h>

#include <set>

#include "tests/model/agent_file.h"
#include "tests/model/agent_fixture.h"

namespace medley {
namespace {

using test::LargestDifference;

LoraConfig Lora(std::int64_t rank = 2) {
  return {.rank = rank, .alpha = 8, .targets = {.names = {kLoraTargets.begin(), kLoraTargets.end()}}};
}

// Letters whose last ids no published vocabulary knows.
class NewLetters : public test::LetterTokenizer {
 public:
  std::vector<std::int64_t> AddedIds() const override { return {2, 3, 4}; }
};

Agent Adapted(const LoraConfig& lora, AgentConfig config = test::SmallConfig(),
              at::ScalarType dtype = at::kDouble) {
  const NewLetters tokenizer;
  Agent agent(config, tokenizer, /*seed=*/7, at::kCPU, nullptr, AdaptersOf(lora, &tokenizer));
  agent.To(at::kCPU, dtype);
  return agent;
}

AgentConfig Untied() {
  AgentConfig config = test::SmallConfig();
  config.language.tied = false;
  return config;
}

// As after some training: adapters and rows that matter.
void Randomize(const Agent& agent, double deviation = 0.3) {
  const at::NoGradGuard no_grad;
  at::Generator generator = at::detail::createCPUGenerator(8);
  for (const Parameter& parameter : agent.parameters()) {
    if (IsAdapter(parameter.name)) parameter.tensor.detach().normal_(0, deviation, generator);
  }
}

bool OfLanguage(const std::string& name) {
  return name.starts_with("model.") || name.starts_with("lm_head.");
}

TEST(Adapters, AtTheStartTheModelGivesWhatItGivesWithout) {
  for (const AgentConfig& config : {test::SmallConfig(), Untied()}) {
    for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
      const NewLetters tokenizer;
      Agent plain(config, tokenizer, 7);
      plain.To(at::kCPU, dtype);
      const Agent adapted = Adapted(Lora(), config, dtype);
      const test::Example example = test::RandomExample(3, 2, 9, 5, dtype);
      EXPECT_TRUE(at::equal(test::Logits(plain, example), test::Logits(adapted, example)));
      EXPECT_TRUE(at::equal(test::Picture(plain, example), test::Picture(adapted, example)));
    }
  }
}

TEST(Adapters, FreezeTheLanguageAndNothingElse) {
  const Agent agent = Adapted(Lora());
  std::int64_t adapters = 0;
  for (const Parameter& parameter : agent.parameters()) {
    const bool frozen = OfLanguage(parameter.name) && !IsAdapter(parameter.name);
    EXPECT_EQ(parameter.frozen, frozen) << parameter.name;
    EXPECT_EQ(parameter.tensor.requires_grad(), !frozen) << parameter.name;
    adapters += IsAdapter(parameter.name) ? 1 : 0;
  }
  EXPECT_EQ(adapters, 2 * 7 * 2 + 1);
}

TEST(Adapters, BeginAsPeftsDo) {
  const Agent agent = Adapted(Lora(4));
  const at::Tensor a = TensorNamed(agent.parameters(), "model.layers.1.mlp.down_proj.lora_A.weight"),
                   b = TensorNamed(agent.parameters(), "model.layers.1.mlp.down_proj.lora_B.weight");
  EXPECT_EQ(a.sizes(), (at::IntArrayRef{4, 24}));
  EXPECT_EQ(b.sizes(), (at::IntArrayRef{16, 4}));
  EXPECT_EQ(b.abs().max().item<double>(), 0);
  const double bound = 1 / std::sqrt(24.0);
  EXPECT_LE(a.abs().max().item<double>(), bound);
  EXPECT_NEAR(a.square().mean().item<double>(), bound * bound / 3, bound * bound / 12);
}

TEST(Adapters, OfTheAgentWithQwen3HaveThePublishedNumberOfParameters) {
  const test::LetterTokenizer tokenizer;
  const Agent agent(
      test::ReadAgentConfig(std::string(MEDLEY_SOURCE_DIR) + "/configs/models/agent-qwen3-0.6b.json"),
      tokenizer, 1, at::kMeta, nullptr, AdaptersOf(Lora(4), &tokenizer));
  std::int64_t adapters = 0;
  for (const Parameter& parameter : agent.parameters())
    adapters += IsAdapter(parameter.name) ? parameter.tensor.numel() : 0;
  EXPECT_EQ(adapters, 2'523'136);
}

TEST(Adapters, MergedGiveWhatTheyGaveBeside) {
  for (const AgentConfig& config : {test::SmallConfig(), Untied()}) {
    for (const bool rslora : {false, true}) {
      LoraConfig lora = Lora(4);
      lora.rslora = rslora;
      const Agent agent = Adapted(lora, config);
      const test::Example example = test::RandomExample(3, 2, 9, 5);
      const at::Tensor plain = test::Logits(agent, example);
      Randomize(agent);
      const at::Tensor beside = test::Logits(agent, example);
      EXPECT_GT(LargestDifference(plain, beside), 0.1);
      const NewLetters tokenizer;
      const auto merged = MergeAdapters(agent.parameters(), AdaptersOf(lora, &tokenizer));
      EXPECT_LT(LargestDifference(test::Logits(agent, example), beside), 1e-12);
      for (const Parameter& parameter : merged) EXPECT_FALSE(IsAdapter(parameter.name)) << parameter.name;
      EXPECT_EQ(merged.size(), Agent(config, tokenizer, 7).parameters().size());
    }
  }
}

// Rounded more than once, or added in half precision, it would be another number.
TEST(Adapters, AreMergedInFloatAndRoundedOnce) {
  const at::Tensor weight = at::randn({6, 5}).to(at::kBFloat16), a = at::randn({2, 5}).to(at::kBFloat16),
                   b = at::randn({6, 2}).to(at::kBFloat16);
  const Adapters adapters{.lora = Lora()};
  const std::vector<Parameter> parameters = {
      {"m.weight", weight.clone()}, {"m.lora_A.weight", a}, {"m.lora_B.weight", b.clone()}};
  MergeAdapters(parameters, adapters);
  const at::Tensor exact = weight.to(at::kDouble) + 4 * at::mm(b.to(at::kDouble), a.to(at::kDouble));
  EXPECT_TRUE(at::equal(parameters[0].tensor, exact.to(at::kFloat).to(at::kBFloat16)));
  EXPECT_EQ(parameters[2].tensor.abs().max().item<float>(), 0);
}

TEST(Adapters, RowsOfTokensChangeBothUsesOfATiedTableAndNoOtherRow) {
  LoraConfig lora = Lora();
  lora.tokens = {50};
  const Agent agent = Adapted(lora);
  const at::Tensor changes = TensorNamed(agent.parameters(), "model.embed_tokens.row_changes");
  ASSERT_EQ(changes.sizes(), (at::IntArrayRef{4, 16}));  // 2, 3, 4 and 50
  test::Example example = test::RandomExample(1, 1, 6, 5);
  example.lengths.fill_(6);
  example.supervised = {{4}};
  example.tokens.copy_(at::tensor({20, 21, 22, 23, 24, 25}).view({1, 6}));
  const at::Tensor before = test::Logits(agent, example)[0];
  {
    const at::NoGradGuard no_grad;
    changes[3].fill_(0.5);
  }
  const at::Tensor after = test::Logits(agent, example)[0];
  EXPECT_GT(std::abs((after - before)[50].item<double>()), 0.01);  // as an output
  at::Tensor rest = (after - before).clone();
  rest[50] = 0;
  EXPECT_EQ(rest.abs().max().item<double>(), 0);
  example.tokens[0][2] = 50;
  const at::Tensor seen = test::Logits(agent, example)[0];
  {
    const at::NoGradGuard no_grad;
    changes[3].fill_(0);
  }
  const at::Tensor unseen = test::Logits(agent, example)[0];
  EXPECT_GT((seen - unseen)[20].abs().item<double>(), 1e-3);  // as an input
}

TEST(Adapters, AnUntiedHeadHasRowChangesOfItsOwn) {
  const Agent agent = Adapted(Lora(), Untied());
  const test::Example example = test::RandomExample(1, 1, 6, 5);
  const at::Tensor before = test::Logits(agent, example);
  const at::NoGradGuard no_grad;
  TensorNamed(agent.parameters(), "lm_head.row_changes")[1].fill_(0.5);
  const at::Tensor change = (test::Logits(agent, example) - before).abs().amax(0);
  for (std::int64_t id = 0; id < change.size(0); ++id)
    EXPECT_EQ(change[id].item<double>() > 0, id == 3) << id;
}

TEST(Adapters, NewTokensAreLeftAloneWhereTheConfigSaysSo) {
  LoraConfig lora = Lora();
  lora.new_tokens = false;
  const Agent agent = Adapted(lora);
  for (const Parameter& parameter : agent.parameters())
    EXPECT_FALSE(parameter.name.ends_with(kRowChanges)) << parameter.name;
}

TEST(Adapters, ATokenWithoutARowIsRefused) {
  LoraConfig lora = Lora();
  lora.tokens = {135};
  EXPECT_THROW(Adapted(lora), InputError);
}

TEST(Adapters, GradientsAreThoseOfDifferences) {
  LoraConfig lora = Lora();
  lora.tokens = {50};
  for (const AgentConfig& config : {test::SmallConfig(), Untied()}) {
    const Agent agent = Adapted(lora, config);
    Randomize(agent);
    test::Example example = test::RandomExample(2, 2, 6, 5);
    example.tokens[0][1] = 50;
    test::Loss(agent, example).backward();
    for (const Parameter& parameter : agent.parameters()) {
      EXPECT_EQ(parameter.tensor.grad().defined(), parameter.tensor.requires_grad()) << parameter.name;
      if (!IsAdapter(parameter.name)) continue;
      const at::NoGradGuard no_grad;
      at::Tensor values = parameter.tensor.detach().view(-1);
      const at::Tensor gradient = parameter.tensor.grad().view(-1);
      for (std::int64_t i = 0; i < values.numel(); i += 1 + values.numel() / 3) {
        const double at_it = values[i].item<double>(), step = 1e-5;
        const auto loss = [&](double value) {
          values[i] = value;
          return test::Loss(agent, example).item<double>();
        };
        const double slope = (loss(at_it + step) - loss(at_it - step)) / (2 * step);
        values[i] = at_it;
        EXPECT_NEAR(gradient[i].item<double>(), slope, 1e-7 + 1e-5 * std::abs(slope))
            << parameter.name << " " << i;
      }
    }
  }
}

TEST(Adapters, ATextThatGrowsHasTheStatesOfTheWholeText) {
  const Agent agent = Adapted(Lora());
  Randomize(agent);
  ForwardContext context;
  test::Example example = test::RandomExample(2, 1, 6, 5);
  ModelInputs prompt = example.Inputs();
  const Generated generated = agent.Generate(prompt, {.max_new_tokens = 5}, context);
  for (std::size_t row = 0; row < 2; ++row) {
    std::vector<std::int64_t> text;
    const std::int64_t length = example.lengths[static_cast<std::int64_t>(row)].item<std::int64_t>();
    for (std::int64_t i = 0; i < length; ++i)
      text.push_back(example.tokens[static_cast<std::int64_t>(row)][i].item<std::int64_t>());
    for (const std::int64_t token : generated.tokens[row]) {
      text.push_back(token);
      test::Example whole = example.Rows(static_cast<std::int64_t>(row), 1);
      whole.tokens = at::tensor(text, at::kLong).view({1, -1});
      whole.lengths = at::tensor({std::ssize(text)}, at::kLong);
      whole.supervised = {{std::ssize(text) - 1}};
      EXPECT_EQ(test::Logits(agent, whole).argmax(-1).item<std::int64_t>(), token);
    }
  }
}

at::Tensor DroppedLogits(const Agent& agent, const test::Example& example, std::int64_t begin) {
  check::TrainingContext context(begin, example.tokens.size(0));
  return agent.Forward(example.Inputs(), {"logits"}, context).at("logits");
}

TEST(Adapters, DropoutIsAFunctionOfTheRow) {
  LoraConfig lora = Lora();
  lora.dropout = 0.4;
  const Agent agent = Adapted(lora);
  Randomize(agent);
  const test::Example example = test::RandomExample(4, 2, 9, 5);
  const at::Tensor all = DroppedLogits(agent, example, 10);
  EXPECT_TRUE(at::equal(all, DroppedLogits(agent, example, 10)));
  EXPECT_GT(LargestDifference(all, test::Logits(agent, example)), 1e-3);
  EXPECT_GT(LargestDifference(all, DroppedLogits(agent, example, 11)), 1e-3);
  for (std::int64_t row = 0; row < 4; ++row) {
    const at::Tensor alone = DroppedLogits(agent, example.Rows(row, 1), 10 + row);
    EXPECT_LT(LargestDifference(all.narrow(0, 3 * row, 3), alone), 1e-12) << row;
  }
}

// Each adapter has a mask of its own, and only what goes into it is dropped.
TEST(Adapters, DropoutLeavesTheMapItselfAlone) {
  ParameterSet set(3, at::kCPU, {}, nullptr, {.lora = Lora()});
  set.BeginBase("");
  const Linear map(set, "q_proj", 6, 5, true);
  const at::Tensor x = at::randn({4, 3, 6}), dropped = at::where(at::rand({4, 3, 6}).gt(0.5), x, 0);
  const at::NoGradGuard no_grad;
  const at::Tensor w = TensorNamed(set.list(), "q_proj.weight"),
                   bias = TensorNamed(set.list(), "q_proj.bias"),
                   a = TensorNamed(set.list(), "q_proj.lora_A.weight");
  at::Tensor b = TensorNamed(set.list(), "q_proj.lora_B.weight").detach();
  b.normal_();
  const at::Tensor expected = at::matmul(x, w.t()) + bias + 4 * at::matmul(at::matmul(dropped, a.t()), b.t());
  EXPECT_LT(LargestDifference(map(x, dropped), expected), 1e-5);
}

// Its values are those of a float base, rounded; of that no more than one tensor is there at once.
TEST(Adapters, AFrozenBaseIsMadeInTheTypeThatItKeeps) {
  LoraConfig lora = Lora();
  lora.targets = {.names = {"q_proj"}};
  const auto set_of = [&](at::ScalarType base) {
    ParameterSet set(3, at::kCPU, {}, nullptr, {.lora = lora, .base = base});
    set.Normal("image.weight", {4, 4}, 1);
    set.BeginBase("");
    const Linear map(set, "q_proj", 6, 5, true);
    set.EndBase();
    return set;
  };
  const ParameterSet rounded = set_of(at::kBFloat16), whole = set_of(at::kFloat);
  for (std::size_t i = 0; i < whole.list().size(); ++i) {
    const auto& [expected, found] = std::pair(whole.list()[i], rounded.list()[i]);
    EXPECT_EQ(found.tensor.scalar_type(), found.frozen ? at::kBFloat16 : at::kFloat) << found.name;
    EXPECT_TRUE(found.tensor.equal(expected.tensor.to(found.tensor.scalar_type()))) << found.name;
  }
}

TEST(Adapters, AreOfTheMapsThatTargetsName) {
  LoraConfig lora = Lora();
  lora.targets = {.pattern = R"(model\.layers\.1\..*(q|down)_proj)"};
  const Agent agent = Adapted(lora);
  std::set<std::string> found;
  for (const Parameter& parameter : agent.parameters()) {
    if (parameter.name.ends_with(kLoraA)) found.insert(parameter.name);
  }
  EXPECT_EQ(found, (std::set<std::string>{"model.layers.1.mlp.down_proj.lora_A.weight",
                                          "model.layers.1.self_attn.q_proj.lora_A.weight"}));
  lora.targets = {.names = {"linear1"}};  // a map, but none of the language
  EXPECT_THROW(Adapted(lora), InputError);
}

// What is checked without tensors is what is made.
TEST(Adapters, MapsAreThoseThatAConfigIsCheckedAgainst) {
  LoraConfig lora = Lora();
  lora.targets = {.names = {}, .pattern = kAllLinear};
  const Agent agent = Adapted(lora);
  std::size_t adapters = 0;
  for (const LinearMap& map : LinearMapsOf(test::SmallConfig().language)) {
    const at::Tensor weight = TensorNamed(agent.parameters(), map.name + ".weight");
    ASSERT_TRUE(weight.defined()) << map.name;
    EXPECT_EQ(weight.sizes(), (at::IntArrayRef{map.out, map.in})) << map.name;
    EXPECT_TRUE(TensorNamed(agent.parameters(), map.name + kLoraA).defined()) << map.name;
    ++adapters;
  }
  for (const Parameter& parameter : agent.parameters()) adapters -= parameter.name.ends_with(kLoraA) ? 1 : 0;
  EXPECT_EQ(adapters, 0U);
}

}  // namespace
}  // namespace medley
