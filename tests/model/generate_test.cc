#include <gtest/gtest.h>

#include <ATen/CPUGeneratorImpl.h>

#include "tests/model/agent_fixture.h"

namespace medley {
namespace {

ModelInputs Prompt(const test::Example& example) {
  ModelInputs inputs = example.Inputs();
  std::erase_if(inputs, [](const ModelInput& input) { return input.name == "supervised"; });
  return inputs;
}

// Larger weights: an untrained agent would repeat one token.
Agent LivelyAgent() {
  Agent agent = test::SmallAgent();
  at::NoGradGuard no_grad;
  for (const Parameter& parameter : agent.parameters()) {
    if (parameter.tensor.dim() > 1) parameter.tensor.mul_(3);
  }
  return agent;
}

TEST(Generate, EachTokenIsTheBestOfTheFullForward) {
  const Agent agent = LivelyAgent();
  const test::Example example = test::RandomExample(3, 2, 8, 21);
  const Generated generated = agent.Generate(Prompt(example), {.max_new_tokens = 6});
  for (std::int64_t row = 0; row < 3; ++row) {
    const auto& reply = generated.tokens[static_cast<std::size_t>(row)];
    test::Example whole = example.Rows(row, 1);
    const std::int64_t length = whole.lengths[0].item<std::int64_t>();
    whole.tokens = at::cat({whole.tokens.narrow(1, 0, length), at::tensor(reply, at::kLong).unsqueeze(0)}, 1);
    whole.lengths.fill_(whole.tokens.size(1));
    whole.supervised = {{}};
    for (std::size_t i = 0; i < reply.size(); ++i)
      whole.supervised[0].push_back(length + static_cast<std::int64_t>(i));
    if (reply.empty()) continue;
    const at::Tensor best = test::Logits(agent, whole).argmax(-1);
    EXPECT_TRUE(at::equal(best, at::tensor(reply, at::kLong))) << row;
  }
}

TEST(Generate, ARowStopsAtItsEndOfText) {
  Agent agent = test::SmallAgent();
  const test::LetterTokenizer tokenizer;
  {  // every hidden state leans to eos
    at::NoGradGuard no_grad;
    for (const Parameter& p : agent.parameters()) {
      if (p.name == "qwen_model.model.embed_tokens.weight") p.tensor.zero_();
    }
  }
  const Generated zero = agent.Generate(Prompt(test::RandomExample(2, 1, 8, 22)), {.max_new_tokens = 3});
  EXPECT_EQ(zero.tokens,
            (std::vector<std::vector<std::int64_t>>{{0, 0, 0}, {0, 0, 0}}));  // ties: the first id, pad

  const Agent lively = LivelyAgent();
  for (const double temperature : {0.0, 5.0}) {
    const Generated many = lively.Generate(Prompt(test::RandomExample(16, 1, 8, 23)),
                                           {.max_new_tokens = 40, .temperature = temperature, .seed = 3});
    for (const auto& reply : many.tokens) {
      EXPECT_LE(reply.size(), 40);
      EXPECT_EQ(std::count(reply.begin(), reply.end(), tokenizer.eos()), 0);
    }
  }
}

TEST(Generate, SamplingIsAFunctionOfTheSeed) {
  const Agent agent = test::SmallAgent();
  const ModelInputs prompt = Prompt(test::RandomExample(4, 1, 8, 24));
  const auto draw = [&](std::uint64_t seed) {
    return agent.Generate(prompt, {.max_new_tokens = 8, .temperature = 1, .seed = seed}).tokens;
  };
  EXPECT_EQ(draw(1), draw(1));
  EXPECT_NE(draw(1), draw(2));
}

TEST(Generate, ThePictureSeesPromptAndReply) {
  const Agent agent = LivelyAgent();
  test::Example example = test::RandomExample(1, 2, 8, 25);
  const Generated generated = agent.Generate(Prompt(example), {.max_new_tokens = 4, .decode_image = true});
  ASSERT_EQ(generated.tokens[0].size(), 4) << "choose another seed: this reply ended";
  const std::int64_t length = example.lengths[0].item<std::int64_t>();
  example.tokens = at::cat(
      {example.tokens.narrow(1, 0, length), at::tensor(generated.tokens[0], at::kLong).unsqueeze(0)}, 1);
  example.lengths.fill_(length + 4);
  example.supervised = {{1}};
  EXPECT_LT(test::LargestDifference(generated.image, test::Picture(agent, example)), 1e-12);
  EXPECT_FALSE(generated.image.requires_grad());
}

TEST(Generate, WithoutAnImageThereIsNoPicture) {
  const Agent agent = test::SmallAgent();
  EXPECT_THROW(agent.Generate(Prompt(test::RandomExample(1, 0, 8, 26)), {.decode_image = true}), Error);
}

}  // namespace
}  // namespace medley
